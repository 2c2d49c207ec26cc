import { request } from 'node:http';
import { CopyObjectCommand, CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { holdIndex } from '../../test/hold-index.ts';
import { beginUpload } from '../../test/multipart.ts';
import { bucket, newClient, type Sent, send, startStore, type TestStore, until } from '../../test/running-store.ts';

let store: TestStore;
const other = 'other';
beforeAll(async () => {
  store = await startStore({ keepWaitingMilliseconds: 10 });
  await store.client.send(new PutObjectCommand({ Bucket: bucket, Key: 'source', Body: 'hello' }));
});
afterAll(() => store.close());

const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8"?>\n';
const copySource = { 'x-amz-copy-source': `${bucket}/source` };

interface Begun {
  status: number | undefined;
  type: string | undefined;
  /** what has arrived so far */
  text(): string;
  whole: Promise<string>;
}

/** Resolves when the head of the answer has arrived. */
function begin(method: string, url: string, { headers = {}, body }: Sent): Promise<Begun> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent: false }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (data) => {
        text += data;
      });
      const whole = new Promise<string>((done) => incoming.on('end', () => done(text)));
      resolve({ status: incoming.statusCode, type: incoming.headers['content-type'], text: () => text, whole });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

type Slow = { root: string; method: string; url: string } & Sent;

const operations: Record<string, (into: string) => Promise<Slow>> = {
  CopyObject: async (into) => ({
    root: 'CopyObjectResult',
    method: 'PUT',
    url: store.presign('PUT', 'copied', { bucket: into, headers: copySource }),
    headers: copySource,
  }),
  UploadPartCopy: async (into) => {
    const uploadId = await beginUpload(store, 'parts', { Bucket: into });
    const query = { uploadId, partNumber: '1' };
    const url = store.presign('PUT', 'parts', { bucket: into, query, headers: copySource });
    return { root: 'CopyPartResult', method: 'PUT', url, headers: copySource };
  },
  CompleteMultipartUpload: async (into) => {
    const uploadId = await beginUpload(store, 'whole', { Bucket: into });
    const query = { uploadId, partNumber: '1' };
    const { headers } = await send('PUT', store.presign('PUT', 'whole', { bucket: into, query }), { body: 'hello' });
    const part = `<Part><PartNumber>1</PartNumber><ETag>${headers.etag}</ETag></Part>`;
    return {
      root: 'CompleteMultipartUploadResult',
      method: 'POST',
      url: store.presign('POST', 'whole', { bucket: into, query: { uploadId } }),
      body: `<CompleteMultipartUpload>${part}</CompleteMultipartUpload>`,
    };
  },
};

describe.each(Object.keys(operations))('%s that takes long', (name) => {
  const prepare = (into: string) => operations[name]?.(into) ?? Promise.reject(new Error(name));

  test('keeps its client waiting with spaces, and ends with its document', async () => {
    const { root, method, url, ...sent } = await prepare(bucket);
    const held = await holdIndex(store.folder);
    const answer = await begin(method, url, sent);
    expect([answer.status, answer.type]).toEqual([200, 'application/xml']);
    await until(() => answer.text().length > xmlDeclaration.length + 3);
    expect(answer.text()).toMatch(/^<\?xml version="1.0" encoding="UTF-8"\?>\n +$/);
    await held.release();
    const [, document] = /^<\?xml version="1.0" encoding="UTF-8"\?>\n +(<.*)$/s.exec(await answer.whole) ?? [];
    expect(document).toMatch(new RegExp(`^<${root} xmlns=.*<ETag>.*</${root}>$`));
  });

  test('reports a later failure in its document', async () => {
    await store.client.send(new CreateBucketCommand({ Bucket: other }));
    const { method, url, ...sent } = await prepare(other);
    const files = store.files().length;
    const held = await holdIndex(store.folder, other);
    const answer = await begin(method, url, sent);
    await held.release();
    const text = await answer.whole;
    expect(answer.status).toBe(200);
    expect(text).toMatch(
      /^<\?xml [^>]*\?>\n *<Error><Code>\w+<\/Code>.*<RequestId>[0-9A-F]{16}<\/RequestId><\/Error>$/,
    );
    expect(text).toMatch(name === 'CopyObject' ? /<Code>NoSuchBucket</ : /<Code>NoSuchUpload</);
    await until(() => store.files().length <= files);
  });
});

test('an early refusal has its own status', async () => {
  const headers = { 'x-amz-copy-source': `${bucket}/absent` };
  const answer = await send('PUT', store.presign('PUT', 'copied', { headers }), { headers });
  expect([answer.status, answer.code]).toEqual([404, 'NoSuchKey']);
});

/** Most likely long enough for the answer to have begun; the test holds either way. */
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 200));

test('the AWS SDK accepts such answers, and sees the errors in them', async () => {
  const client = newClient(store.endpoint);
  const held = await holdIndex(store.folder);
  const copy = client.send(new CopyObjectCommand({ Bucket: bucket, Key: 'sdk', CopySource: `${bucket}/source` }));
  await aWhile();
  await held.release();
  expect((await copy).CopyObjectResult?.ETag).toMatch(/^"[0-9a-f]{32}"$/);

  await client.send(new CreateBucketCommand({ Bucket: other }));
  const held2 = await holdIndex(store.folder, other);
  const failing = expect(
    client.send(new CopyObjectCommand({ Bucket: other, Key: 'sdk', CopySource: `${bucket}/source` })),
  ).rejects.toMatchObject({ name: 'NoSuchBucket' });
  await aWhile();
  await held2.release();
  await failing;
  client.destroy();
});
