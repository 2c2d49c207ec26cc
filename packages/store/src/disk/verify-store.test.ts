import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { flipInPack } from '../../test/damage.ts';
import { beginUpload, partBytes, partOf, sendPart, uploadInParts } from '../../test/multipart.ts';
import { bucket, filed, listFiles, newFolder, send, startStore, type TestStore } from '../../test/running-store.ts';
import { runCli } from '../../test/store-process.ts';
import { checksumHeader } from '../protocol/checksum-header.ts';
import { checksumAlgorithms, checksumOf } from './checksum.ts';
import { openIndexDb } from './index-db.ts';
import { StoreFolderInUse } from './lock.ts';
import { NoStoreFolder } from './require-index.ts';
import type { Problem, Verified } from './verification.ts';
import { verifyStore } from './verify-store.ts';

let folder: string;
beforeEach(() => {
  folder = newFolder();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a store on the folder for as long as `work` takes. */
async function inStore(work: (store: TestStore) => Promise<unknown>): Promise<void> {
  const store = await startStore({ dataDir: folder });
  await work(store);
  await store.close();
}

const put = (key: string, body: string | Buffer) => (store: TestStore) =>
  store.client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }));

async function verify(): Promise<{ verified: Verified; problems: Problem[] }> {
  const problems: Problem[] = [];
  const verified = await verifyStore(folder, { onProblem: (problem) => problems.push(problem) });
  return { verified, problems };
}

/** The file that holds exactly this. */
function fileOf(body: string | Buffer): string {
  const found = listFiles(folder)
    .map((name) => join(folder, 'blobs', name.split('/').at(-1)?.slice(0, 8) ?? '', name.split('/').at(-1) ?? ''))
    .find((path) => readFileSync(path).equals(Buffer.from(body)));
  if (found === undefined) throw new Error('There is no such file.');
  return found;
}

function flipBit(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 0b100, at);
  writeFileSync(path, bytes);
}

test('a sound store: everything is read, no problem is found, and nothing is changed', async () => {
  const parts = [partOf(partBytes, 1), partOf(10, 2)];
  await inStore(async (store) => {
    await put('a', 'content')(store);
    await put('empty', '')(store);
    await uploadInParts(store, 'large', parts);
    await sendPart(store, 'under way', await beginUpload(store, 'under way'), 7, 'a part');
  });
  writeFileSync(join(folder, 'incoming', 'half'), 'ha');
  const before = listFiles(folder);
  const { verified, problems } = await verify();
  expect(problems).toEqual([]);
  expect(verified).toEqual({
    objects: 3,
    parts: 3,
    bytes: 7 + partBytes + 10 + 6,
    leftovers: 1,
    setAside: 0,
    problems: 0,
  });
  expect(listFiles(folder)).toEqual(before);
});

test('a flipped bit is found, in an object, in a part, and in a part of an upload under way', async () => {
  const parts = [partOf(partBytes, 1), partOf(10, 2)];
  await inStore(async (store) => {
    await put('sound', 'sound')(store);
    await put('rotten\n', filed('about to rot'))(store);
    await uploadInParts(store, 'large', parts);
    await sendPart(store, 'under way', await beginUpload(store, 'under way'), 7, 'a part');
  });
  flipBit(fileOf(filed('about to rot')), 3);
  flipBit(fileOf(partOf(partBytes, 1)), partBytes - 1);
  flipBit(fileOf('a part'), 0);
  const { problems } = await verify();
  expect(problems).toEqual([
    { kind: 'rotten', subject: `${bucket}/large, part 1`, sentence: expect.stringContaining('MD5') },
    { kind: 'rotten', subject: `${bucket}/rotten\n`, sentence: expect.stringContaining('MD5') },
    {
      kind: 'rotten',
      subject: expect.stringMatching(/^photos\/under way, upload [0-9a-f]+, part 7$/),
      sentence: expect.stringContaining('MD5'),
    },
  ]);
});

test('a flipped bit is found in bytes of which only the checksum is known', async () => {
  const body = partOf(partBytes, 9);
  await inStore(async ({ client }) => {
    await client.send(
      new PutObjectCommand({ Bucket: bucket, Key: 'checked', Body: body, ChecksumAlgorithm: 'SHA256' }),
    );
  });
  expect((await verify()).problems).toEqual([]);
  flipBit(fileOf(body), 5);
  expect((await verify()).problems).toEqual([
    { kind: 'rotten', subject: `${bucket}/checked`, sentence: expect.stringContaining('SHA256') },
  ]);
});

test('no stored checksum is taken for damage, of whatever kind and size', async () => {
  await inStore(async ({ client, presign }) => {
    for (const algorithm of checksumAlgorithms) {
      for (const body of [Buffer.from('small'), partOf(partBytes, 3)]) {
        const key = `${algorithm}-${body.length}`;
        const headers = { [checksumHeader(algorithm)]: checksumOf(algorithm, body) };
        expect((await send('PUT', presign('PUT', key, { headers }), { headers, body })).status).toBe(200);
        const copy = { Bucket: bucket, Key: `${key}-copy`, CopySource: `${bucket}/${key}` };
        await client.send(new CopyObjectCommand(copy));
      }
    }
  });
  expect((await verify()).problems).toEqual([]);
});

test('the checksum that an object or part was stored with is verified, besides its MD5', async () => {
  await inStore(async ({ client }) => {
    await client.send(
      new PutObjectCommand({ Bucket: bucket, Key: 'one', Body: filed('one'), ChecksumAlgorithm: 'SHA256' }),
    );
    const upload = { Bucket: bucket, Key: 'parts' };
    const begun = await client.send(new CreateMultipartUploadCommand({ ...upload, ChecksumAlgorithm: 'CRC32C' }));
    const { UploadId } = begun;
    const part = { ...upload, UploadId, PartNumber: 1, Body: 'part', ChecksumAlgorithm: 'CRC32C' as const };
    const { ETag, ChecksumCRC32C } = await client.send(new UploadPartCommand(part));
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag, ChecksumCRC32C }] };
    await client.send(new CompleteMultipartUploadCommand({ ...upload, UploadId, MultipartUpload }));
  });
  expect((await verify()).verified).toMatchObject({ objects: 2, parts: 1, problems: 0 });

  const index = await openIndexDb(join(folder, 'index'));
  for (const key of ['one', 'parts']) {
    const record = index.findObject(bucket, key);
    if (!record?.checksum) throw new Error('The checksum was not stored.');
    await index.putObject(bucket, `${key}, wrong`, { ...record, checksum: { ...record.checksum, value: 'AAAA' } });
  }
  await index.close();
  const { problems } = await verify();
  expect(problems.slice(0, 2)).toMatchObject([
    { kind: 'rotten', subject: `${bucket}/one, wrong`, sentence: expect.stringContaining('AAAA was stored') },
    { kind: 'index', subject: `${bucket}/parts, wrong`, sentence: expect.stringContaining('checksum is AAAA') },
  ]);
});

test('objects in packs that were replaced or removed leave nothing that counts as in use', async () => {
  await inStore(async (store) => {
    for (const body of ['few', 'fewer', filed('many'), 'few again', filed('many')]) await put('replaced', body)(store);
    await put('in parts', 'few')(store);
    await uploadInParts(store, 'in parts', ['a part']);
    await put('removed', 'few')(store);
    await store.client.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'removed' }));
  });
  expect(await verify()).toMatchObject({ verified: { objects: 2, parts: 1 }, problems: [] });
});

test('a flipped bit of an object in a pack is found, and so are a pack cut off, a wrong checksum and a lost pack', async () => {
  const checked = { ChecksumAlgorithm: 'CRC32' as const };
  await inStore(async (store) => {
    await put('rotten', 'about to rot')(store);
    await put('sound', '')(store);
    await store.client.send(new PutObjectCommand({ Bucket: bucket, Key: 'checked', Body: 'checked', ...checked }));
    await put('tail', 'at the very end')(store);
  });
  expect((await verify()).verified).toMatchObject({ objects: 4, parts: 0, bytes: 34, problems: 0 });
  flipInPack(folder, 'about to r');
  const [pack = ''] = readdirSync(join(folder, 'packs'));
  const path = join(folder, 'packs', pack);
  truncateSync(path, readFileSync(path).length - 1);
  const index = await openIndexDb(join(folder, 'index'));
  const record = index.findObject(bucket, 'checked');
  if (!record?.checksum) throw new Error('The checksum was not stored.');
  await index.putObject(bucket, 'checked', { ...record, checksum: { ...record.checksum, value: 'AAAA' } });
  await index.putObject(bucket, 'lost', { ...record, packed: { pack: '0'.repeat(16), at: 0 } });
  await index.close();
  const { problems } = await verify();
  expect(problems).toEqual([
    { kind: 'rotten', subject: `${bucket}/checked`, sentence: expect.stringContaining('AAAA was stored') },
    { kind: 'missing', subject: `${bucket}/lost`, sentence: `there is no file packs/${'0'.repeat(16)}` },
    { kind: 'rotten', subject: `${bucket}/rotten`, sentence: `packs/${pack} at byte 0 is not what was stored` },
    {
      kind: 'rotten',
      subject: `${bucket}/tail`,
      sentence: expect.stringMatching(/^packs\/.* is not what was stored$/),
    },
    { kind: 'index', subject: `packs/${'0'.repeat(16)}`, sentence: 'the list of packs lacks it' },
  ]);
});

test('a missing blob is found, and so is one with a wrong length', async () => {
  await inStore(async (store) => {
    await put('gone', filed('to be removed'))(store);
    await put('longer', filed('to be lengthened'))(store);
  });
  unlinkSync(fileOf(filed('to be removed')));
  appendFileSync(fileOf(filed('to be lengthened')), '!');
  const { problems } = await verify();
  expect(problems).toEqual([
    { kind: 'missing', subject: `${bucket}/gone`, sentence: expect.stringContaining('no file blobs/00000000/') },
    {
      kind: 'rotten',
      subject: `${bucket}/longer`,
      sentence: expect.stringContaining('16386 bytes, 16385 were stored'),
    },
  ]);
});

test('a file that nothing refers to is stray, unless the next start clears it away', async () => {
  await inStore(put('a', filed('content')));
  const name = (generation: string) => `${generation}-${'a'.repeat(32)}`;
  mkdirSync(join(folder, 'blobs', '00000005'));
  for (const generation of ['00000000', '00000005']) {
    writeFileSync(join(folder, 'blobs', generation, name(generation)), 'abandoned');
  }
  expect((await verify()).verified).toMatchObject({ leftovers: 2, problems: 0 });

  const index = await openIndexDb(join(folder, 'index'));
  await index.blobs.writeOpenGeneration(5);
  await index.close();
  const { verified, problems } = await verify();
  expect(verified).toMatchObject({ leftovers: 1, problems: 1 });
  expect(problems).toMatchObject([{ kind: 'stray', subject: `blobs/00000000/${name('00000000')}` }]);
});

test('an index that contradicts itself is reported', async () => {
  await inStore(async (store) => {
    await put('a', filed('content'))(store);
    await uploadInParts(store, 'large', [partOf(partBytes, 1), partOf(10, 2)]);
  });
  const index = await openIndexDb(join(folder, 'index'));
  const large = index.findObject(bucket, 'large');
  if (large) await index.putObject(bucket, 'twice', { ...large, etag: `${'0'.repeat(32)}-2` });
  await index.close();
  const { problems } = await verify();
  expect(problems).toMatchObject([
    { kind: 'index', subject: `${bucket}/twice`, sentence: expect.stringContaining('that of its parts is') },
    { kind: 'index', subject: 'index', sentence: '3 blobs are listed as in use, but objects and parts refer to 5' },
  ]);
});

test('a folder that a store is using is refused, and so is one without a store', async () => {
  await inStore(() => expect(verify()).rejects.toThrow(StoreFolderInUse));
  await expect(verifyStore(join(folder, 'nowhere'), { onProblem: () => undefined })).rejects.toThrow(NoStoreFolder);
});

test('cadiz-store verify: a line for each problem, a summary, and exit code 1 if there is any', async () => {
  await inStore(put('a\nb', filed('content')));
  expect(await runCli(['verify', '--data', folder])).toEqual({
    code: 0,
    output: '1 object and 0 parts read, 16385 bytes: no problems.\n',
  });
  const file = fileOf(filed('content'));
  flipBit(file, 0);
  const rotten = await runCli(['verify', '--data', folder]);
  expect(rotten.code).toBe(1);
  expect(rotten.output.split('\n')).toEqual([
    expect.stringMatching(/^rotten: "photos\/a\\nb": blobs\/.* has the MD5 /),
    '1 object and 0 parts read, 16385 bytes: 1 problem.',
    '',
  ]);
  renameSync(file, `${file}.elsewhere`);
  expect(await runCli(['verify', '--data', folder])).toMatchObject({
    code: 1,
    output: expect.stringMatching(/^missing: /),
  });
  await inStore(async () => {
    const beside = await runCli(['verify', '--data', folder]);
    expect(beside).toMatchObject({ code: 1, output: expect.stringContaining('in use by process') });
  });
  expect(await runCli(['verify'])).toMatchObject({ code: 1, output: expect.stringContaining('--data') });
  expect(await runCli(['verify', '--data', join(folder, 'nowhere')])).toMatchObject({
    code: 1,
    output: expect.stringContaining('There is no store in'),
  });
});
