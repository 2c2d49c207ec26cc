import { chownSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketCorsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutBucketCorsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { clearPagesWith } from '../../test/damage.ts';
import { beginUpload, complete, partBytes, partOf, sendPart, uploadInParts } from '../../test/multipart.ts';
import { bucket, filed, folderOfTest, listFiles, send, startStore, type TestStore } from '../../test/running-store.ts';
import { runCli } from '../../test/store-process.ts';

const put = ({ client }: TestStore, key: string, body: string | Buffer, more = {}) =>
  client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body, ...more }));
const remove = ({ client }: TestStore, key: string) =>
  client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));

/** Everything that a client can see of the test bucket. */
async function read({ client }: TestStore): Promise<Record<string, unknown>> {
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
  const seen: Record<string, unknown> = {};
  for (const { Key = '', ETag, Size, LastModified } of Contents) {
    const got = await client.send(new GetObjectCommand({ Bucket: bucket, Key, ChecksumMode: 'ENABLED' }));
    const { Metadata, ContentType, CacheControl, ChecksumSHA256 } = got;
    const body = (await got.Body?.transformToByteArray()) ?? [];
    const bytes = Buffer.from(body).toString('base64');
    seen[Key] = { ETag, Size, LastModified, Metadata, ContentType, CacheControl, ChecksumSHA256, bytes };
  }
  return seen;
}

/** Objects of every kind, some of which are replaced and removed again. */
async function fill(store: TestStore): Promise<void> {
  const described = { Metadata: { who: 'ada' }, ContentType: 'image/png', CacheControl: 'no-store' };
  await put(store, 'small', 'small', { ...described, ChecksumAlgorithm: 'SHA256' });
  await put(store, 'large \u2028 ü', filed('large'), { ...described, ChecksumAlgorithm: 'SHA256' });
  await uploadInParts(store, 'in parts', [partOf(partBytes, 1), partOf(10, 2)]);
  for (const body of [filed('first'), 'second', filed('third')]) await put(store, 'replaced by a file', body);
  for (const body of [filed('first'), 'second']) await put(store, 'replaced by few bytes', body);
  await uploadInParts(store, 'replaced parts', ['first']);
  await put(store, 'replaced parts', filed('second'));
  for (const [key, body] of Object.entries({ 'gone small': 'gone', 'gone large': filed('gone') })) {
    await put(store, key, body);
    await remove(store, key);
  }
  await uploadInParts(store, 'gone parts', ['gone']);
  const Objects = [{ Key: 'gone parts' }];
  await store.client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects } }));
  await store.client.send(new CreateBucketCommand({ Bucket: 'empty' }));
  const CORSRules = [{ AllowedMethods: ['PUT'], AllowedOrigins: ['https://a.example'] }];
  await store.client.send(new PutBucketCorsCommand({ Bucket: 'empty', CORSConfiguration: { CORSRules } }));
}

const losses: Record<string, (folder: string) => void | Promise<void>> = {
  'index/ removed': (folder) => rmSync(join(folder, 'index'), { recursive: true }),
  'index/ removed, its journal replaced': async (folder) => {
    rmSync(join(folder, 'journal'));
    await (await startStore({ dataDir: folder })).close();
    rmSync(join(folder, 'index'), { recursive: true });
  },
  'data.mdb removed': (folder) => rmSync(join(folder, 'index', 'data.mdb')),
  'data.mdb of no bytes': (folder) => truncateSync(join(folder, 'index', 'data.mdb')),
  'data.mdb cut off': (folder) => truncateSync(join(folder, 'index', 'data.mdb'), 3 * 4096 + 17),
  'an older index': (folder) => {
    rmSync(join(folder, 'index'), { recursive: true });
    cpSync(join(folder, 'copy'), join(folder, 'index'), { recursive: true });
  },
};

test.each(Object.entries(losses))(
  '%s: no file is removed, the store refuses to start, and a rebuild brings everything back',
  async (_, lose) => {
    const folder = folderOfTest();
    const first = await startStore({ dataDir: folder });
    await put(first, 'early', 'early');
    await put(first, 'early and large', filed('early'));
    await put(first, 'early and gone', 'early');
    await first.close();
    cpSync(join(folder, 'index'), join(folder, 'copy'), { recursive: true });

    const second = await startStore({ dataDir: folder });
    await fill(second);
    await remove(second, 'early and gone');
    const uploadId = await beginUpload(second, 'under way');
    const part = await sendPart(second, 'under way', uploadId, 1, 'a part');
    const before = await read(second);
    await second.close();
    const files = listFiles(folder).sort();
    expect(Object.keys(before)).toHaveLength(8);
    expect(files).toHaveLength(7);

    await lose(folder);
    await expect(startStore({ dataDir: folder })).rejects.toThrow(/verify --rebuild/);
    const refused = await runCli(['--data', folder, '--port', '0']);
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining(`verify --rebuild --data ${folder}`) });
    expect(refused.output.trim().split('\n')).toHaveLength(1);
    expect(listFiles(folder).sort()).toEqual(files);

    const rebuilt = await runCli(['verify', '--rebuild', '--data', folder]);
    expect(rebuilt).toMatchObject({ code: 0, output: expect.stringContaining('no problems') });
    const third = await startStore({ dataDir: folder });
    expect(await read(third)).toEqual(before);
    const { CORSRules } = await third.client.send(new GetBucketCorsCommand({ Bucket: 'empty' }));
    expect(CORSRules).toMatchObject([{ AllowedOrigins: ['https://a.example'] }]);
    await complete(third, 'under way', uploadId, [part]);
    expect((await send('GET', third.presign('GET', 'under way'))).text).toBe('a part');
    expect(third.files().sort()).toEqual(files);
    await third.close();
  },
);

test('a damaged page that the start meets: the store refuses to start, and a rebuild brings everything back', async () => {
  const folder = folderOfTest();
  const first = await startStore({ dataDir: folder });
  await put(first, 'small', 'small');
  await first.close();
  clearPagesWith(folder, 'doomed uploads'); // the page that names all tables
  await expect(startStore({ dataDir: folder })).rejects.toThrow(/is damaged \(page \d+ .*verify --rebuild/);
  const rebuilt = await runCli(['verify', '--rebuild', '--data', folder]);
  expect(rebuilt).toMatchObject({ code: 0, output: expect.stringContaining('no problems') });
  const second = await startStore({ dataDir: folder });
  expect((await send('GET', second.presign('GET', 'small'))).text).toBe('small');
  await second.close();
});

test('a damaged page that a request meets: the answer and the log say what to do', async () => {
  const folder = folderOfTest();
  const first = await startStore({ dataDir: folder });
  await put(first, 'small', 'small');
  await first.close();
  clearPagesWith(folder, 'lastModified');
  const logged: object[] = [];
  const second = await startStore({ dataDir: folder, log: (line) => logged.push(line) });
  const answer = await send('GET', second.presign('GET', 'small'));
  expect([answer.status, answer.code]).toEqual([500, 'InternalError']);
  expect(answer.text).toContain('run cadiz-store verify');
  expect(logged).toContainEqual(
    expect.objectContaining({ level: 'error', message: expect.stringMatching(/^The index .* damaged/) }),
  );
  await second.close();
});

test('a damaged page that a request meets before it is refused: it is answered, and the store goes on', async () => {
  const folder = folderOfTest();
  const store = await startStore({ dataDir: folder });
  clearPagesWith(folder, `${bucket}{"`);
  for (const headers of [{}, { expect: 'more' }]) {
    const answer = await send('GET', `${store.endpoint}/${bucket}/any`, { headers });
    expect([answer.status, answer.code]).toEqual([500, 'InternalError']);
  }
  await store.close();
});

test('an index lost together with its journal: no file is removed, and the store refuses to start', async () => {
  const folder = folderOfTest();
  const first = await startStore({ dataDir: folder });
  await put(first, 'large', filed('large'));
  await first.close();
  for (const name of ['index', 'journal']) rmSync(join(folder, name), { recursive: true, force: true });
  await expect(startStore({ dataDir: folder })).rejects.toThrow(/from a backup/);
  const rebuilt = await runCli(['verify', '--rebuild', '--data', folder]);
  expect(rebuilt).toMatchObject({ code: 1, output: expect.stringContaining('from a backup') });
  expect(listFiles(folder)).toHaveLength(1);
});

test('an older index with its own journal: files unknown to them are set aside, and come back with a newer index', async () => {
  const folder = folderOfTest();
  const first = await startStore({ dataDir: folder });
  await put(first, 'early', filed('early'));
  await first.close();
  const metadata = ['index', 'journal'];
  for (const name of metadata) cpSync(join(folder, name), join(folder, `${name}.copy`), { recursive: true });
  const second = await startStore({ dataDir: folder });
  await put(second, 'late', filed('late'));
  await put(second, 'late and small', 'small');
  await second.close();
  for (const name of metadata) {
    renameSync(join(folder, name), join(folder, `${name}.newer`));
    renameSync(join(folder, `${name}.copy`), join(folder, name));
  }

  const older = await startStore({ dataDir: folder });
  expect((await send('GET', older.presign('GET', 'early'))).text).toBe(filed('early'));
  expect(older.files()).toHaveLength(1);
  await older.close();
  const aside = readdirSync(join(folder, 'set-aside')).map((name) =>
    readFileSync(join(folder, 'set-aside', name), 'utf8'),
  );
  expect(aside.sort()).toEqual([expect.stringMatching(/late and smallsmall$/), filed('late')]);

  for (const name of metadata) {
    rmSync(join(folder, name), { recursive: true });
    renameSync(join(folder, `${name}.newer`), join(folder, name));
  }
  const newer = await startStore({ dataDir: folder });
  expect((await send('GET', newer.presign('GET', 'late'))).text).toBe(filed('late'));
  expect((await send('GET', newer.presign('GET', 'late and small'))).text).toBe('small');
  expect(readdirSync(join(folder, 'set-aside'))).toEqual([]);
  await newer.close();
});

test.skipIf(process.geteuid?.() !== 0)('root rebuilds no index that the user of the store could not read', async () => {
  const folder = folderOfTest();
  mkdirSync(join(folder, 'blobs'));
  chownSync(join(folder, 'blobs'), 65_534, 65_534);
  expect(await runCli(['verify', '--rebuild', '--data', folder])).toMatchObject({
    code: 1,
    output: expect.stringContaining(
      'belongs to the user with the id 65534, who could not use an index that root writes',
    ),
  });
  expect(readdirSync(folder)).toEqual(['blobs']);
});
