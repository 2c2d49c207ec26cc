import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { createPresigner } from '@cadiz/sigv4';
import { expect, test } from 'vitest';
import { series } from '../../../../scripts/series.mjs';
import { beginUpload, md5, partBytes, partOf, sendPart, uploadInParts } from '../../test/multipart.ts';
import {
  bucket,
  folderOfTest,
  keys,
  listFiles,
  newClient,
  region,
  send,
  startStore,
  until,
} from '../../test/running-store.ts';
import { startProcess } from '../../test/store-process.ts';
import { openIndexDb } from '../disk/index-db.ts';
import { verifyStore } from '../disk/verify-store.ts';

const digest = (body: Buffer | string) => createHash('sha256').update(body).digest('hex');
const absent = 'absent';
const sourceBytes = partOf(partBytes + 1000, 1);

/**
 * What a client knows of an upload: the last of `parts` may not have been acknowledged, and neither may its
 * completion or abort.
 */
interface Known {
  key: string;
  parts: Map<number, Buffer>;
  /** a part that was sent and not acknowledged */
  sending?: number;
  ending?: 'complete' | 'abort';
  ended: boolean;
}

interface Model {
  uploads: Map<string, Known>;
  /** What a key may hold: the last acknowledged state, or any that was asked for since. */
  allowed: Map<string, Set<string>>;
}

interface Client {
  /** @throws once the store is gone */
  call(method: string, key: string, query?: Record<string, string>, sent?: object): Promise<string>;
}

function newCaller(endpoint: string, acknowledged: (operation: string) => void): Client {
  const presign = createPresigner({ ...keys, region, endpoint });
  return {
    call: async (
      method,
      key,
      query = {},
      { headers = {}, body }: { headers?: Record<string, string>; body?: Buffer | string } = {},
    ) => {
      const address = { method: method as 'GET', bucket, key, query, headers, expiresInSeconds: 60, now: Date.now() };
      const answer = await send(method, presign(address), body === undefined ? { headers } : { headers, body });
      if (answer.status >= 300) throw new Error(`${method} ${key}: ${answer.status} ${answer.text}`);
      acknowledged(operationOf(method, query, headers));
      return answer.text;
    },
  };
}

function operationOf(method: string, query: object, headers: object): string {
  if ('partNumber' in query) return 'part';
  if ('x-amz-copy-source' in headers) return 'copy';
  return { POST: 'uploads' in query ? 'create' : 'complete', DELETE: 'abort' }[method] ?? method;
}

function toXml(parts: Known['parts']): string {
  const lines = [...parts]
    .sort(([a], [b]) => a - b)
    .map(([number, body]) => `<Part><PartNumber>${number}</PartNumber><ETag>${md5(body)}</ETag></Part>`);
  return `<CompleteMultipartUpload>${lines.join('')}</CompleteMultipartUpload>`;
}

const wholeOf = (parts: Known['parts']) => Buffer.concat([...parts].sort(([a], [b]) => a - b).map(([, body]) => body));

/** Uploads in parts, completes, aborts, copies and replaces until the store is gone. */
async function workUntilGone({ call }: Client, writer: number, model: Model): Promise<void> {
  const expectState = (key: string, state: string) => {
    const states = model.allowed.get(key) ?? new Set([absent]);
    model.allowed.set(key, states.add(state));
  };
  for (let step = 0; ; step += 1) {
    const key = `${writer}/${step % 5}`;
    if (step % 4 === 3) {
      expectState(key, digest(sourceBytes));
      await call('PUT', key, {}, { headers: { 'x-amz-copy-source': `/${bucket}/source` } });
      model.allowed.set(key, new Set([digest(sourceBytes)]));
      continue;
    }
    const uploadId = /<UploadId>(\w+)</.exec(await call('POST', key, { uploads: '' }))?.[1] ?? '';
    const known: Known = { key, parts: new Map(), ended: false };
    model.uploads.set(uploadId, known);
    const sendBody = async (number: number, body: Buffer, sent: object = { body }) => {
      known.sending = number;
      await call('PUT', key, { partNumber: String(number), uploadId }, sent);
      known.parts.set(number, body);
      delete known.sending;
    };
    if (step % 3 === 0) {
      const headers = {
        'x-amz-copy-source': `${bucket}/source`,
        'x-amz-copy-source-range': `bytes=0-${partBytes - 1}`,
      };
      await sendBody(1, sourceBytes.subarray(0, partBytes), { headers });
    }
    await sendBody(5, randomBytes(2_000));
    await sendBody(5, randomBytes(100_000));
    if (step % 7 === 6) continue; // left open
    if (step % 7 === 5) {
      known.ending = 'abort';
      await call('DELETE', key, { uploadId });
    } else {
      const whole = digest(wholeOf(known.parts));
      expectState(key, whole);
      known.ending = 'complete';
      await call('POST', key, { uploadId }, { body: toXml(known.parts) });
      model.allowed.set(key, new Set([whole]));
    }
    known.ended = true;
  }
}

async function listParts(client: S3Client, key: string, uploadId: string): Promise<Map<number, string> | undefined> {
  try {
    const { Parts = [] } = await client.send(new ListPartsCommand({ Bucket: bucket, Key: key, UploadId: uploadId }));
    return new Map(Parts.map(({ PartNumber = 0, ETag = '' }) => [PartNumber, ETag.replaceAll('"', '')]));
  } catch (error) {
    expect(error).toMatchObject({ name: 'NoSuchUpload' });
    return undefined;
  }
}

/** How many files there should be, according to the store itself. */
async function countReferred(client: S3Client): Promise<number> {
  let count = 0;
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
  for (const { Key } of Contents) {
    const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key, PartNumber: 1 }));
    count += head.PartsCount ?? 1;
  }
  const { Uploads = [], IsTruncated } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
  expect(IsTruncated).toBe(false);
  for (const { Key = '', UploadId = '' } of Uploads) count += (await listParts(client, Key, UploadId))?.size ?? 0;
  return count;
}

test('kill -9 during multipart uploads, completions, aborts and copies', async () => {
  const data = folderOfTest();
  const model: Model = { uploads: new Map(), allowed: new Map() };
  const rounds = ['part', 'complete', 'copy', 'abort', 'create', ...series({ full: ['part', 'complete'], short: [] })];
  for (const [round, last] of rounds.entries()) {
    const running = await startProcess(data);
    const client = newClient(running.endpoint);
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    await newCaller(running.endpoint, () => undefined).call('PUT', 'source', {}, { body: sourceBytes });
    let acknowledged = 0;
    // The kill comes at the very moment in which an operation of this kind is answered, while others are under way.
    const caller = newCaller(running.endpoint, (operation) => {
      acknowledged += 1;
      if (acknowledged >= 40 + round * 17 && operation === last) running.process.kill('SIGKILL');
    });
    const ends = await Promise.allSettled([0, 1, 2, 3, 4, 5].map((writer) => workUntilGone(caller, writer, model)));
    // Only the end of the store ends a writer: no request was refused.
    for (const end of ends) expect(String(end.status === 'rejected' && end.reason)).not.toMatch(/: [45]\d\d /);
    client.destroy();

    const after = await startProcess(data);
    const reading = newClient(after.endpoint);
    expect(listFiles(data)).toHaveLength(await countReferred(reading));
    const presign = createPresigner({ ...keys, region, endpoint: after.endpoint });
    const found = new Map<string, string>();
    for (const [key, states] of model.allowed) {
      const answer = await send('GET', presign({ method: 'GET', bucket, key, expiresInSeconds: 60, now: Date.now() }));
      const state = answer.status === 404 ? absent : digest(answer.body);
      expect(states, `${key} in round ${round}`).toContain(state);
      found.set(key, state);
      model.allowed.set(key, new Set([state]));
    }
    for (const [uploadId, { key, parts, sending, ending, ended }] of model.uploads) {
      const listed = await listParts(reading, key, uploadId);
      if (ended) expect(listed, `${key} was ended`).toBeUndefined();
      else if (ending === 'complete') expect(listed === undefined).toBe(found.get(key) === digest(wholeOf(parts)));
      else if (!ending) expect(listed, `${key} was not ended`).toBeDefined();
      for (const [number, body] of listed ? parts : []) {
        if (number !== sending) expect(listed?.get(number)).toBe(md5(body));
      }
      if (!listed) model.uploads.delete(uploadId);
    }
    // An upload that was left open can go on: it is completed, and is whole.
    const { call } = newCaller(after.endpoint, () => undefined);
    for (const [uploadId, { key, parts, sending }] of model.uploads) {
      if (parts.size === 0 || sending !== undefined) await call('DELETE', key, { uploadId });
      else await call('POST', key, { uploadId }, { body: toXml(parts) });
      if (parts.size === 0 || sending !== undefined) continue;
      const answer = await send('GET', presign({ method: 'GET', bucket, key, expiresInSeconds: 60, now: Date.now() }));
      expect(digest(answer.body)).toBe(digest(wholeOf(parts)));
      model.allowed.set(key, new Set([digest(wholeOf(parts))]));
    }
    model.uploads.clear();
    reading.destroy();
    expect(await after.end('SIGTERM')).toBe(0);
  }
});

test('a full disk: a part or copy that does not fit is refused, and leaves nothing behind', async () => {
  // A limit on the size of a file, in blocks of 512 bytes, makes a write fail as on a full disk.
  const data = folderOfTest();
  const running = await startProcess(data, { limit: 'ulimit -f 12288' });
  const client = newClient(running.endpoint);
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  const { call } = newCaller(running.endpoint, () => undefined);
  const uploadId = /<UploadId>(\w+)</.exec(await call('POST', 'a', { uploads: '' }))?.[1] ?? '';
  const part = (number: number, body: Buffer) => call('PUT', 'a', { partNumber: String(number), uploadId }, { body });
  const bodies = new Map([
    [1, partOf(partBytes, 1)],
    [2, partOf(partBytes, 2)],
  ]);
  for (const [number, body] of bodies) await part(number, body);
  await expect(part(3, partOf(7_000_000, 3))).rejects.toThrow('507');
  await call('POST', 'a', { uploadId }, { body: toXml(bodies) });
  const headers = { 'x-amz-copy-source': `${bucket}/a` };
  await expect(call('PUT', 'b', {}, { headers })).rejects.toThrow('507');
  await expect(call('GET', 'b')).rejects.toThrow('404');
  await call('GET', 'a');
  expect(listFiles(data)).toHaveLength(2);
  client.destroy();
  expect(await running.end('SIGTERM')).toBe(0);
});

test('a start releases the many parts of an object removed just before a crash, and verify knows about them', async () => {
  const data = folderOfTest();
  const first = await startStore({ dataDir: data });
  const uploadId = await beginUpload(first, 'many');
  const kept = await uploadInParts(first, 'kept', ['kept']);
  const numbers = Array.from({ length: 450 }, (_, at) => at + 1);
  await Promise.all(numbers.map((number) => sendPart(first, 'many', uploadId, number, `part ${number}`)));
  await first.close();
  const index = await openIndexDb(join(data, 'index'));
  expect(await index.uploads.abort({ bucket, key: 'many', uploadId })).toEqual([{ partsOf: uploadId }]);
  expect(await index.uploads.letGoParts(uploadId)).toHaveLength(200);
  await index.blobs.writeOpenGeneration(9);
  await index.close();
  const problems: unknown[] = [];
  const { leftovers } = await verifyStore(data, { onProblem: (problem) => problems.push(problem) });
  expect([leftovers, problems]).toEqual([450, []]);

  const second = await startStore({ dataDir: data });
  expect(second.files()).toHaveLength(1);
  expect((await send('HEAD', second.presign('HEAD', 'kept'))).headers.etag).toBe(kept);
  await second.close();
  const after = await verifyStore(data, { onProblem: (problem) => problems.push(problem) });
  expect([after.leftovers, after.parts, problems]).toEqual([0, 1, []]);
});

test('an object with many parts is removed with all its files, while other requests get their turn', async () => {
  const store = await startStore();
  const uploadId = await beginUpload(store, 'many');
  const numbers = Array.from({ length: 450 }, (_, at) => at + 1);
  await Promise.all(numbers.map((number) => sendPart(store, 'many', uploadId, number, `part ${number}`)));
  expect(store.files()).toHaveLength(450);
  expect((await send('DELETE', store.presign('DELETE', 'many', { query: { uploadId } }))).status).toBe(204);
  expect((await send('GET', store.presign('GET', 'many', { query: { uploadId } }))).code).toBe('NoSuchUpload');
  await until(() => store.files().length === 0);
  await store.close();
});

test('a start removes the files of parts removed just before a crash, and keeps all others', async () => {
  const data = folderOfTest();
  const first = await startStore({ dataDir: data });
  const [aborted, completed, open] = [
    await beginUpload(first, 'a'),
    await beginUpload(first, 'b'),
    await beginUpload(first, 'c'),
  ];
  await sendPart(first, 'a', aborted, 1, 'aborted');
  const named = await sendPart(first, 'b', completed, 2, 'named');
  await sendPart(first, 'b', completed, 3, 'not named');
  await sendPart(first, 'c', open, 1, 'open');
  await uploadInParts(first, 'd', ['deleted']);
  await first.close();

  const index = await openIndexDb(join(data, 'index'));
  await index.uploads.abort({ bucket, key: 'a', uploadId: aborted });
  await index.uploads.complete({ bucket, key: 'b', uploadId: completed }, ({ findPart }) => {
    const { size = 0, etag = '', lastModified = 0 } = findPart(2) ?? {};
    const multipart = { uploadId: completed, parts: 1 };
    return { record: { size, etag, lastModified, multipart, headers: {}, metadata: {} }, partNumbers: new Set([2]) };
  });
  await index.deleteObjects(bucket, [{ key: 'd' }]);
  expect(named.PartNumber).toBe(2);
  await index.close();
  expect(listFiles(data)).toHaveLength(5);

  for (const openGeneration of [0, 9]) {
    const again = await openIndexDb(join(data, 'index'));
    await again.blobs.writeOpenGeneration(openGeneration);
    await again.close();
    const second = await startStore({ dataDir: data });
    expect(second.files()).toHaveLength(2);
    expect((await send('GET', second.presign('GET', 'b'))).text).toBe('named');
    expect([...((await listParts(second.client, 'c', open)) ?? [])]).toEqual([[1, md5('open')]]);
    await second.close();
  }
});
