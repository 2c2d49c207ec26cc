import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CallOptions, type Person, send, startTestService, type TestService } from '../../../test/service.ts';
import { toLifetime } from '../../serving/lifetime.ts';

let service: TestService;
let ada: Person;
let projectId: string;
let fileIds: string[];

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp('Ada');
  projectId = await service.createProject(ada);
  fileIds = [await createFile('one'), await createFile('two'), await createFile('three')];
});
afterAll(() => service.close());

async function createFile(content: string, project = projectId, as = ada): Promise<string> {
  const body = await service.upload({ as }, project, Buffer.from(content), { fileName: `${content}.txt` });
  return (await service.call('POST', '/api/storage/record', { as, body })).body.id;
}

const ask = (body: object, caller: CallOptions = { as: ada }) =>
  service.call('POST', '/api/storage/files/urls', { ...caller, body });
const askOne = (id: string, body: object = {}) =>
  service.call('POST', `/api/storage/files/${id}/url`, { as: ada, body });

describe('addresses of many files', () => {
  test('are in the order of the request, each as if asked for by itself', async () => {
    const wanted = [fileIds[2], fileIds[0], fileIds[2], fileIds[1]];
    const answer = await ask({ fileIds: wanted, disposition: 'inline', expiresIn: 7200 });
    expect(answer.status).toBe(200);
    expect(answer.body.urls.map(({ fileId }: { fileId: string }) => fileId)).toEqual(wanted);
    const texts = [];
    for (const { url } of answer.body.urls) texts.push((await send('GET', url)).text);
    expect(texts).toEqual(['three', 'one', 'three', 'two']);
    const url = new URL(answer.body.urls[1].url);
    expect(url.searchParams.get('response-content-disposition')).toBe('inline; filename="one.txt"');
  });

  test('a file that is absent, in the trash, or out of reach has the problem of the single request', async () => {
    const bob = await service.signUp('Bob');
    const his = await createFile('his', await service.createProject(bob), bob);
    const trashed = await createFile('trashed');
    await service.call('DELETE', `/api/storage/files/${trashed}`, { as: ada });
    const answer = await ask({ fileIds: [randomUUID(), fileIds[0], his, trashed] });
    expect(answer.status).toBe(200);
    const single = (await askOne(his)).body;
    const problem = { ...single, requestId: answer.headers.get('x-request-id') };
    expect(answer.body.urls.map((one: { problem?: object }) => one.problem)).toEqual([
      problem,
      undefined,
      problem,
      problem,
    ]);
  });

  test('a key needs the scope, and reaches only its project', async () => {
    const other = await service.createProject(ada);
    const [write, elsewhere] = [
      await service.createKey(ada, projectId, { scopes: ['files:write'] }),
      await service.createKey(ada, other),
    ];
    expect((await ask({ fileIds }, { key: write.key })).body.code).toBe('scope_missing');
    const { body } = await ask({ fileIds }, { key: elsewhere.key });
    expect(body.urls.every(({ problem }: { problem?: { code: string } }) => problem?.code === 'file_not_found')).toBe(
      true,
    );
  });

  test('a thousand are the most', async () => {
    const ids = Array.from({ length: 1000 }, () => randomUUID());
    expect((await ask({ fileIds: ids })).body.urls).toHaveLength(1000);
    const refused = await ask({ fileIds: [...ids, randomUUID()] });
    expect(refused.body.issues).toEqual([{ path: 'fileIds', message: 'must name at most 1000 files' }]);
    expect((await ask({ fileIds: [] })).body.issues[0].path).toBe('fileIds');
    expect((await ask({ fileIds: [fileIds[0], 'x'] })).body.issues[0].path).toBe('fileIds.1');
  });
});

describe('one file has one address for some minutes', () => {
  test('here and in …/url, and the next one lives as long', async () => {
    const id = fileIds[0] ?? '';
    // To the beginning of such a period.
    service.advance(300_000 - (service.deps.now() % 300_000));
    const first = (await askOne(id)).body;
    service.advance(299_000);
    expect((await askOne(id)).body).toEqual(first);
    expect((await ask({ fileIds: [id] })).body.urls[0]).toEqual({ fileId: id, ...first });
    service.advance(1000);
    const next = (await askOne(id)).body;
    expect(next.url).not.toBe(first.url);
    expect(Date.parse(next.expiresAt) - Date.parse(first.expiresAt)).toBe(300_000);
    expect((await send('GET', next.url)).text).toBe('one');
  });

  test.each([1, 3, 4, 60, 900, 3600, 86_400, 604_500, 604_700, 604_799, 604_800])(
    'asked for %i seconds, it lives at least as long, and at most a quarter or five minutes longer',
    (expiresIn) => {
      for (const now of [1_795_238_340_123, 1_795_238_399_999, 1_795_238_400_000]) {
        const { signedAt, expiresInSeconds } = toLifetime(now, expiresIn);
        // A signature counts from its whole second.
        const left = signedAt / 1000 + expiresInSeconds - Math.floor(now / 1000);
        expect(left).toBeGreaterThanOrEqual(expiresIn);
        expect(left).toBeLessThanOrEqual(expiresIn + Math.min(300, expiresIn / 4));
        expect([signedAt % 1000, signedAt <= now, expiresInSeconds <= 604_800]).toEqual([0, true, true]);
      }
    },
  );
});
