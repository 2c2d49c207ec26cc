import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Library, openLibrary, startLibrary, tally } from '../../../test/library.ts';
import type { Answer } from '../../../test/service.ts';

let library: Library;

beforeAll(async () => {
  library = await startLibrary();
});
afterAll(() => library.service.close());

async function upload(facts: Record<string, unknown> = {}, bytes = 'new bytes'): Promise<object> {
  const { service, key, projectId } = library;
  const named = { fileName: 'upload.tmp', mimeType: 'text/plain' };
  return { ...(await service.upload({ key }, projectId, Buffer.from(bytes), named)), ...facts };
}

const record = async (body: object | Promise<object>, key = library.key) =>
  library.call('POST', '/api/storage/record', await body, { key });
const get = (id: string) => library.call('GET', `/api/storage/files/${id}`);

async function old(facts: Record<string, unknown> = {}, folderId: string | null = null): Promise<Answer['body']> {
  const { service, key, projectId } = library;
  const named = { folderId, fileName: 'report.txt', mimeType: 'text/plain' };
  const recording = await service.upload({ key }, projectId, Buffer.from('old bytes'), named);
  const { status, body, text } = await record({ ...recording, ...facts });
  expect(status, text).toBe(200);
  return body;
}

describe('a recording that replaces a file', () => {
  test('takes its name, folder, metadata and externalId; the old one is in the trash and restorable', async () => {
    const folderId = await library.folder();
    const before = await old({ metadata: { page: 1 }, externalId: 'report' }, folderId);
    const { status, body, text } = await record(upload({ replaces: before.id }));
    expect(status, text).toBe(200);
    const place = { fileName: 'report.txt', folderId, metadata: { page: 1 }, externalId: 'report' };
    expect(body).toMatchObject({ ...place, fileSize: 9, mimeType: 'text/plain' });
    expect(body.id).not.toBe(before.id);
    expect((await get(body.id)).body).toEqual(body);
    expect((await library.listed(folderId)).files).toEqual([body.id]);
    expect((await library.trash())[0]).toMatchObject({ id: before.id });
    const restored = await library.call('POST', `/api/storage/files/${before.id}/restore`);
    expect(restored.body).toMatchObject({ fileName: 'report.txt', folderId, externalId: null });
  });

  test('leaves the old recording what it was: sent again, it says that the file is in the trash', async () => {
    const { service, key, projectId } = library;
    const named = { fileName: 'again.txt', mimeType: 'text/plain' };
    const recording = { ...(await service.upload({ key }, projectId, Buffer.from('old'), named)), externalId: 'again' };
    const { body: before } = await record(recording);
    expect((await record(upload({ replaces: before.id }))).status).toBe(200);
    expect((await record(recording)).body).toMatchObject({ code: 'file_deleted', fileId: before.id });
  });

  test('keeps its own metadata and externalId if they are given', async () => {
    const before = await old({ metadata: { page: 1 }, externalId: 'kept' });
    const own = { metadata: {}, externalId: 'own' };
    expect((await record(upload({ replaces: before.id, ...own }))).body).toMatchObject(own);
    const restored = await library.call('POST', `/api/storage/files/${before.id}/restore`);
    expect(restored.body.externalId).toBe('kept');
  });

  test('may name the externalId of the file that it replaces', async () => {
    const before = await old({ externalId: 'the same' });
    const { body } = await record(upload({ replaces: before.id, externalId: 'the same' }));
    expect(body.externalId).toBe('the same');
    expect((await library.call('POST', `/api/storage/files/${before.id}/restore`)).status).toBe(200);
  });

  test('changes nothing if its externalId is taken', async () => {
    await old({ externalId: 'of a third' });
    const before = await old();
    await expectProblem(record(upload({ replaces: before.id, externalId: 'of a third' })), 409, 'external_id_taken');
    expect((await get(before.id)).status).toBe(200);
  });

  test('is answered again when it is repeated, and differs from one that replaces nothing', async () => {
    const before = await old();
    const recording = await upload({ replaces: before.id });
    const { body } = await record(recording);
    const again = await Promise.all(Array.from({ length: 4 }, () => record(recording)));
    expect(again.map((answer) => answer.body)).toEqual(Array(4).fill(body));
    await expectProblem(record({ ...recording, replaces: undefined }), 409, 'already_recorded');
    const other = await old();
    await expectProblem(record({ ...recording, replaces: other.id }), 409, 'already_recorded');
    expect((await get(other.id)).status).toBe(200);
  });

  test.each([1, 2, 3])('wins alone when several race (round %i)', async () => {
    const before = await old();
    const recordings = await Promise.all(Array.from({ length: 6 }, () => upload({ replaces: before.id })));
    const answers = await Promise.all(recordings.map((recording) => record(recording)));
    expect(tally(answers)).toEqual({ 200: 1, '409 already_replaced': 5 });
    const { files } = await library.listed();
    const recorded = answers.find(({ status }) => status === 200)?.body.id;
    expect(files).toContain(recorded);
    expect(files).not.toContain(before.id);
  });

  test('finds no file that was replaced, restored and then deleted', async () => {
    const before = await old();
    await record(upload({ replaces: before.id }));
    await expectProblem(record(upload({ replaces: before.id })), 409, 'already_replaced');
    await library.call('POST', `/api/storage/files/${before.id}/restore`);
    await library.call('DELETE', `/api/storage/files/${before.id}`);
    await expectProblem(record(upload({ replaces: before.id })), 404, 'file_not_found');
  });

  test('finds only a file that is there, in this project', async () => {
    const gone = await old();
    await library.call('DELETE', `/api/storage/files/${gone.id}`);
    await expectProblem(record(upload({ replaces: gone.id })), 404, 'file_not_found');
    const elsewhere = await openLibrary(library.service);
    const theirs = await elsewhere.file();
    await expectProblem(record(upload({ replaces: theirs.id })), 404, 'file_not_found');
    expect((await elsewhere.call('GET', `/api/storage/files/${theirs.id}`)).status).toBe(200);
  });

  test('needs the scopes to write and to delete', async () => {
    const { service, ada, projectId } = library;
    const before = await old();
    const { key } = await service.createKey(ada, projectId, { scopes: ['files:write'] });
    await expectProblem(record(upload({ replaces: before.id }), key), 403, 'scope_missing');
    expect((await get(before.id)).status).toBe(200);
  });

  test('by a key of a folder reaches no file outside of it', async () => {
    const { service, ada, projectId } = library;
    const folderId = await library.folder();
    const { key } = await service.createKey(ada, projectId, { folderId });
    const [outside, inside] = [await old(), await old({}, folderId)];
    await expectProblem(record(upload({ replaces: outside.id }), key), 404, 'file_not_found');
    expect((await record(upload({ replaces: inside.id }), key)).body).toMatchObject({ folderId });
  });

  test('counts towards the quota, since the old file stays in the trash', async () => {
    const { service, ada, projectId, call, file } = await openLibrary(library.service);
    const before = await file(null, 600);
    await service.call('PATCH', `/api/projects/${projectId}`, { as: ada, body: { quotaBytes: 1500 } });
    const recordings = [];
    for (const _ of [1, 2]) {
      const one = await service.upload({ as: ada }, projectId, Buffer.alloc(600, 'x'));
      recordings.push({ ...one, replaces: before.id });
    }
    const [first, second] = recordings;
    const { body } = await call('POST', '/api/storage/record', first);
    await expectProblem(call('POST', '/api/storage/record', { ...second, replaces: body.id }), 409, 'quota_exceeded');
    expect((await call('GET', `/api/storage/files/${body.id}`)).status).toBe(200);
  });

  test('is an audit event', async () => {
    const before = await old();
    const { body } = await record(upload({ replaces: before.id }));
    const { ada, projectId, service } = library;
    const { events } = (await service.call('GET', `/api/projects/${projectId}/audit`, { as: ada })).body;
    const subject = { fileId: body.id, replacedFileId: before.id, fileName: 'report.txt' };
    expect(events[0]).toMatchObject({ type: 'file.replaced', subject });
  });
});
