import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { GetObjectCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formBody, formType, signForm } from '../../test/form.ts';
import {
  bucket,
  keptEitherWay,
  send,
  sendBytes,
  startStore,
  type TestStore,
  targetOf,
  until,
} from '../../test/running-store.ts';
import { checksumAlgorithms, checksumOf } from '../disk/checksum.ts';
import { checksumHeader } from '../protocol/checksum-header.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startStore({ maxObjectBytes: 10_000_000 });
});
afterAll(() => store.close());

const hex = (algorithm: string, data: string | Buffer) => createHash(algorithm).update(data).digest('hex');
const base64 = (algorithm: string, data: string) => createHash(algorithm).update(data).digest('base64');

async function exists(key: string): Promise<boolean> {
  const answer = await send('HEAD', store.presign('HEAD', key));
  return answer.status === 200;
}

async function text(key: string): Promise<string> {
  return (await send('GET', store.presign('GET', key))).text;
}

/** Counts the files that come from now on: those of earlier tests may still be on their way out. */
function countAdded({ files }: Pick<TestStore, 'files'>): () => number {
  const before = new Set(files());
  return () => files().filter((file) => !before.has(file)).length;
}

describe('stores', () => {
  test('what Bun has presigned with a type, which is one of answers', async () => {
    const query = { 'response-content-type': 'text/x', 'response-content-disposition': 'inline' };
    const headers = { 'content-type': 'text/plain' };
    const answer = await send('PUT', store.presign('PUT', 'bun', { query }), { headers, body: 'x' });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, undefined]);
    const stored = (await send('HEAD', store.presign('HEAD', 'bun'))).headers;
    expect(stored).toMatchObject(headers);
    expect(stored).not.toHaveProperty('content-disposition');
  });

  test('metadata whatever its name is', async () => {
    const headers = { 'x-amz-meta-__proto__': 'a', 'x-amz-meta-constructor': 'b' };
    expect((await send('PUT', store.presign('PUT', 'names', { headers }), { headers, body: 'x' })).status).toBe(200);
    expect((await send('HEAD', store.presign('HEAD', 'names'))).headers).toMatchObject(headers);
  });

  test('through the AWS SDK, with content headers and metadata', async () => {
    const put = await store.client.send(
      new PutObjectCommand({
        Bucket: bucket,
        Key: 'sdk.txt',
        Body: 'hello',
        ContentType: 'text/plain; charset=utf-8',
        CacheControl: 'max-age=1',
        ContentDisposition: 'attachment; filename="a.txt"',
        ContentEncoding: 'identity',
        ContentLanguage: 'de',
        Metadata: { colour: 'green' },
      }),
    );
    expect(put.ETag).toBe(`"${hex('md5', 'hello')}"`);
    const got = await store.client.send(new GetObjectCommand({ Bucket: bucket, Key: 'sdk.txt' }));
    expect(await got.Body?.transformToString()).toBe('hello');
    expect(got).toMatchObject({
      ContentType: 'text/plain; charset=utf-8',
      CacheControl: 'max-age=1',
      ContentDisposition: 'attachment; filename="a.txt"',
      ContentEncoding: 'identity',
      ContentLanguage: 'de',
      ContentLength: 5,
      Metadata: { colour: 'green' },
      ETag: put.ETag,
    });
  });

  test('through a presigned URL with a signed length', async () => {
    const answer = await send('PUT', store.presign('PUT', 'presigned', { contentLength: 5 }), { body: 'hello' });
    expect(answer.status).toBe(200);
    expect(answer.headers.etag).toBe(`"${hex('md5', 'hello')}"`);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(await text('presigned')).toBe('hello');
  });

  test('no bytes at all', async () => {
    const answer = await send('PUT', store.presign('PUT', 'empty', { contentLength: 0 }), {
      headers: { 'content-length': '0' },
    });
    expect(answer.status).toBe(200);
    const head = await store.client.send(new HeadObjectCommand({ Bucket: bucket, Key: 'empty' }));
    expect(head).toMatchObject({ ContentLength: 0, ContentType: 'binary/octet-stream' });
    expect(head.ETag).toBe(`"${hex('md5', '')}"`);
  });

  test('several megabytes whole', async () => {
    const body = Buffer.alloc(9_000_000, 'the quick brown fox ');
    await store.client.send(new PutObjectCommand({ Bucket: bucket, Key: 'large', Body: body }));
    const got = await send('GET', store.presign('GET', 'large'));
    expect(hex('sha256', got.body)).toBe(hex('sha256', body));
  });

  test('over an older object, whose file is removed', async () => {
    const added = countAdded(store);
    for (const { form, files: needed } of [...keptEitherWay, ...keptEitherWay.toReversed()]) {
      const body = form(`${needed}`);
      await send('PUT', store.presign('PUT', 'twice'), { body });
      expect(await text('twice')).toBe(body);
      await until(() => added() === needed);
    }
  });

  test('with the right Content-MD5 and x-amz-content-sha256', async () => {
    const headers = { 'content-md5': base64('md5', 'hello') };
    const answer = await store.sendSigned('PUT', 'digests', hex('sha256', 'hello'), { headers, body: 'hello' });
    expect(answer.status).toBe(200);
  });
});

describe('If-None-Match: *', () => {
  const headers = { 'if-none-match': '*' };

  test('stores if there is no object, and answers 412 if there is one', async () => {
    const url = store.presign('PUT', 'once', { headers });
    expect((await send('PUT', url, { headers, body: 'first' })).status).toBe(200);
    const second = await send('PUT', url, { headers, body: 'second' });
    expect([second.status, second.code]).toEqual([412, 'PreconditionFailed']);
    expect(await text('once')).toBe('first');
    expect((await send('PUT', url, { body: 'third' })).status).toBe(403);
  });

  test.each(keptEitherWay)('lets one of twenty through, which is kept $kept', async ({ form, files: needed }) => {
    const url = store.presign('PUT', `race of ${needed}`);
    const added = countAdded(store);
    const bodies = Array.from({ length: 20 }, (_, at) => form(`body ${at}`));
    const answers = await Promise.all(bodies.map((body) => send('PUT', url, { headers, body })));
    const winners = answers.flatMap(({ status }, at) => (status === 200 ? [bodies[at]] : []));
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(19);
    expect(winners).toEqual([await text(`race of ${needed}`)]);
    await until(() => added() === needed);
  });

  test('any other condition is refused, not ignored', async () => {
    const date = new Date().toUTCString();
    const both = { 'if-none-match': '*', 'if-match': '*' };
    for (const condition of [
      { 'if-none-match': '"abc"' },
      { 'if-modified-since': date },
      { 'if-unmodified-since': date },
      both,
    ]) {
      const answer = await send('PUT', store.presign('PUT', 'conditional'), { headers: condition, body: 'x' });
      expect([answer.status, answer.code]).toEqual([501, 'NotImplemented']);
    }
    expect(await exists('conditional')).toBe(false);
  });
});

describe('If-Match', () => {
  const put = (key: string, body: string, etag?: string) =>
    send('PUT', store.presign('PUT', key), { headers: etag === undefined ? {} : { 'if-match': etag }, body });

  test('stores over the object it names, and over no other', async () => {
    const etag = String((await put('matched', 'one')).headers.etag);
    const other = await put('matched', 'two', '"other"');
    expect([other.status, other.code]).toEqual([412, 'PreconditionFailed']);
    expect((await put('matched', 'two', `W/${etag}`)).status).toBe(412);
    expect((await put('matched', 'two', `"other", ${etag}`)).status).toBe(200);
    expect(await text('matched')).toBe('two');
    expect((await put('matched', 'three', '*')).status).toBe(200);
    expect((await put('matched', 'four', etag)).status).toBe(412);
  });

  test('for a missing object: 404', async () => {
    const answer = await put('unmatched', 'x', '*');
    expect([answer.status, answer.code]).toEqual([404, 'NoSuchKey']);
    expect(await exists('unmatched')).toBe(false);
  });

  test.each(keptEitherWay)('lets one of twenty through, which is kept $kept', async ({ form }) => {
    const etag = String((await put('contested', form('first'))).headers.etag);
    const files = store.files().length;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => put('contested', form(`body ${at}`), etag)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(19);
    await until(() => store.files().length === files);
  });
});

describe('if a presigned URL writes once (checklist 41, T14)', () => {
  let sealed: TestStore;
  beforeAll(async () => {
    sealed = await startStore({ presignedOverwrite: 'deny' });
  });
  afterAll(() => sealed.close());

  test('it cannot replace an existing object, but can be repeated', async () => {
    const url = sealed.presign('PUT', 'photo');
    const headers = { 'content-type': 'image/png' };
    const first = await send('PUT', url, { headers, body: 'the photo' });
    expect(first.status).toBe(200);
    const files = sealed.files();

    for (const body of ['the phota', 'another', '']) {
      const replaced = await send('PUT', url, { body });
      expect([replaced.status, replaced.code]).toEqual([412, 'PreconditionFailed']);
      expect(replaced.text).toContain('writes only once');
    }
    const again = await send('PUT', url, { headers: { 'content-type': 'text/html' }, body: 'the photo' });
    expect([again.status, again.headers.etag]).toEqual([200, first.headers.etag]);
    const answer = await send('GET', sealed.presign('GET', 'photo'));
    expect([answer.text, answer.headers['content-type']]).toEqual(['the photo', 'image/png']);
    await until(() => sealed.files().length === files.length);
    expect(sealed.files()).toEqual(files);
  });

  test.each(checksumAlgorithms)('it can be repeated with 2 MiB and their %s', async (algorithm) => {
    const key = `checked ${algorithm}`;
    const body = Buffer.alloc(2 * 1024 * 1024, algorithm);
    const put = (bytes: Buffer) => {
      const query = { [checksumHeader(algorithm)]: checksumOf(algorithm, bytes) };
      return send('PUT', sealed.presign('PUT', key, { query }), { body: bytes });
    };
    const first = await put(body);
    const again = await put(body);
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.headers.etag).toBe(first.headers.etag);
    expect((await send('HEAD', sealed.presign('HEAD', key))).headers.etag).toBe(first.headers.etag);
    const other = await put(Buffer.alloc(body.length, 'other'));
    expect([other.status, other.code]).toEqual([412, 'PreconditionFailed']);
  });

  test('a copy, form or completion with the same bytes changes nothing, and is answered with the ETag that stays', async () => {
    const body = Buffer.alloc(1024 * 1024, 'same');
    const checksum = { 'x-amz-checksum-sha256': checksumOf('SHA256', body) };
    const put = (key: string, query = {}) =>
      send('PUT', sealed.presign('PUT', key, { query: { ...checksum, ...query } }), { body });
    const { headers: first } = await put('stays');
    await put('source');
    const headers = { 'x-amz-copy-source': `/${bucket}/source` };
    const copied = await send('PUT', sealed.presign('PUT', 'stays', { headers }), { headers });
    expect(copied.text).toContain(String(first.etag).slice(1, -1));
    const form = {
      headers: { 'content-type': formType },
      body: formBody(signForm({ key: 'stays', ...checksum }), body),
    };
    expect((await send('POST', `${sealed.endpoint}/${bucket}`, form)).headers.etag).toBe(first.etag);

    const complete = async () => {
      const query = { uploads: '', 'x-amz-checksum-algorithm': 'SHA256' };
      const begun = await send('POST', sealed.presign('POST', 'parts', { query }));
      const uploadId = /<UploadId>(.*?)</.exec(begun.text)?.[1] ?? '';
      const { headers } = await put('parts', { uploadId, partNumber: '1' });
      const part = `<Part><PartNumber>1</PartNumber><ETag>${headers.etag}</ETag></Part>`;
      const sent = { body: `<CompleteMultipartUpload>${part}</CompleteMultipartUpload>` };
      const { text } = await send('POST', sealed.presign('POST', 'parts', { query: { uploadId } }), sent);
      return /<ETag>(.*?)</.exec(text)?.[1];
    };
    const etag = await complete();
    expect(etag).toMatch(/-1&quot;$/);
    expect(await complete()).toBe(etag);
  });

  test.each(keptEitherWay)(
    'of twenty that send different bytes at once, one is kept $kept',
    async ({ form, files: needed }) => {
      const url = sealed.presign('PUT', `raced ${needed}`);
      const added = countAdded(sealed);
      const bodies = Array.from({ length: 20 }, (_, at) => form(`body ${String(at).padStart(2, '0')}`));
      const answers = await Promise.all(bodies.map((body) => send('PUT', url, { body })));
      const winners = answers.flatMap(({ status }, at) => (status === 200 ? [bodies[at]] : []));
      expect(answers.filter(({ status }) => status === 412)).toHaveLength(19);
      expect(winners).toEqual([(await send('GET', sealed.presign('GET', `raced ${needed}`))).text]);
      await until(() => added() === needed);
    },
  );

  test.each(keptEitherWay)(
    'of twenty that send the same bytes at once, kept $kept, all are told that they are there',
    async ({ form, files: needed }) => {
      const url = sealed.presign('PUT', `repeated ${needed}`);
      const added = countAdded(sealed);
      const answers = await Promise.all(Array.from({ length: 20 }, () => send('PUT', url, { body: form('same') })));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      await until(() => added() === needed);
    },
  );

  test('a presigned copy or multipart upload cannot replace an existing object', async () => {
    for (const key of ['first', 'second']) await send('PUT', sealed.presign('PUT', key), { body: key });
    const headers = { 'x-amz-copy-source': `/${bucket}/second` };
    const copied = await send('PUT', sealed.presign('PUT', 'first', { headers }), { headers });
    expect([copied.status, copied.code]).toEqual([412, 'PreconditionFailed']);

    const begun = await send('POST', sealed.presign('POST', 'first', { query: { uploads: '' } }));
    const uploadId = /<UploadId>(.*?)</.exec(begun.text)?.[1] ?? '';
    await send('PUT', sealed.presign('PUT', 'first', { query: { uploadId, partNumber: '1' } }), { body: 'part' });
    const part = `<Part><PartNumber>1</PartNumber><ETag>${hex('md5', 'part')}</ETag></Part>`;
    const completed = await send('POST', sealed.presign('POST', 'first', { query: { uploadId } }), {
      body: `<CompleteMultipartUpload>${part}</CompleteMultipartUpload>`,
    });
    expect([completed.status, completed.code]).toEqual([412, 'PreconditionFailed']);
    expect((await send('GET', sealed.presign('GET', 'first'))).text).toBe('first');
  });

  test('a request signed in the header may replace, and after a removal the address writes again', async () => {
    const url = sealed.presign('PUT', 'mended');
    await send('PUT', url, { body: 'one' });
    const headers = { 'content-length': '3' };
    expect((await sealed.sendSigned('PUT', 'mended', 'UNSIGNED-PAYLOAD', { headers, body: 'two' })).status).toBe(200);
    expect((await send('GET', sealed.presign('GET', 'mended'))).text).toBe('two');
    await send('DELETE', sealed.presign('DELETE', 'mended'));
    expect((await send('PUT', url, { body: 'three' })).status).toBe(200);
  });
});

describe('refuses, and stores nothing', () => {
  const hash = hex('sha256', 'hello');
  const five = { 'content-length': '5' };
  const cases: [name: string, status: number, code: string, presign: object, headers: Record<string, string>][] = [
    ['a shorter body than signed', 403, 'SignatureDoesNotMatch', { contentLength: 6 }, five],
    ['a longer body than signed', 403, 'SignatureDoesNotMatch', { contentLength: 4 }, five],
    [
      'chunks where a length was signed',
      403,
      'SignatureDoesNotMatch',
      { contentLength: 5 },
      { 'transfer-encoding': 'chunked' },
    ],
    ['chunks', 411, 'MissingContentLength', {}, { 'transfer-encoding': 'chunked' }],
    ['a wrong Content-MD5', 400, 'BadDigest', {}, { 'content-md5': base64('md5', 'other') }],
    ['a malformed Content-MD5', 400, 'InvalidDigest', {}, { 'content-md5': 'abc' }],
    [
      'another signed content-type',
      403,
      'SignatureDoesNotMatch',
      { headers: { 'content-type': 'image/png' } },
      { 'content-type': 'text/html' },
    ],
    ['unsigned metadata', 403, 'AccessDenied', {}, { 'x-amz-meta-a': 'b' }],
    ['an unsigned acl', 403, 'AccessDenied', {}, { 'x-amz-acl': 'public-read' }],
    [
      'an unsigned grant',
      403,
      'AccessDenied',
      {},
      { 'x-amz-grant-read': 'uri="http://acs.amazonaws.com/groups/global/AllUsers"' },
    ],
    ['an unsigned copy', 403, 'AccessDenied', {}, { 'x-amz-copy-source': `/${bucket}/presigned` }],
    [
      'a signed copy of what is not there',
      404,
      'NoSuchBucket',
      { headers: { 'x-amz-copy-source': '/absent/b' } },
      { 'x-amz-copy-source': '/absent/b' },
    ],
    [
      'a signed acl that makes it public',
      400,
      'AccessControlListNotSupported',
      { headers: { 'x-amz-acl': 'public-read' } },
      { 'x-amz-acl': 'public-read' },
    ],
    [
      'a signed grant',
      400,
      'AccessControlListNotSupported',
      { headers: { 'x-amz-grant-read': 'id="a"' } },
      { 'x-amz-grant-read': 'id="a"' },
    ],
    [
      'a public acl in the address',
      400,
      'AccessControlListNotSupported',
      { query: { 'x-amz-acl': 'public-read' } },
      {},
    ],
    ['an acl that is none', 400, 'InvalidArgument', { query: { 'x-amz-acl': 'mine' } }, {}],
    ['aws-chunked bytes', 400, 'InvalidRequest', {}, { 'content-encoding': 'aws-chunked' }],
    ['?tagging', 501, 'NotImplemented', { query: { tagging: '' } }, {}],
    ['a part of an unknown upload', 404, 'NoSuchUpload', { query: { partNumber: '1', uploadId: 'x' } }, {}],
    ['an unknown sub-resource', 501, 'NotImplemented', { query: { whatever: '' } }, {}],
    [
      'another storage class',
      501,
      'NotImplemented',
      { headers: { 'x-amz-storage-class': 'GLACIER' } },
      { 'x-amz-storage-class': 'GLACIER' },
    ],
    [
      'too much metadata',
      400,
      'MetadataTooLarge',
      { headers: { 'x-amz-meta-a': 'b'.repeat(2100) } },
      { 'x-amz-meta-a': 'b'.repeat(2100) },
    ],
    ['an address that has expired', 403, 'AccessDenied', { now: Date.now() - 61_000 }, {}],
    ['a right SHA-256 that was not signed', 403, 'AccessDenied', {}, { 'x-amz-content-sha256': hash }],
    ['a bearer token beside the address', 400, 'InvalidArgument', {}, { authorization: 'Bearer abc' }],
  ];

  test.each(cases)('%s: %i %s', async (_name, status, code, presign, headers) => {
    const files = store.files().length;
    const answer = await send('PUT', store.presign('PUT', 'refused', presign), { headers, body: 'hello' });
    expect([answer.status, answer.code]).toEqual([status, code]);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.headers['x-amz-request-id']).toMatch(/^[0-9A-F]{16}$/);
    expect(await exists('refused')).toBe(false);
    expect(store.files()).toHaveLength(files);
  });

  test('a body that is not the signed one', async () => {
    const other = await store.sendSigned('PUT', 'refused', hex('sha256', 'other'), { body: 'hello' });
    expect([other.status, other.code]).toEqual([400, 'XAmzContentSHA256Mismatch']);
    expect(await exists('refused')).toBe(false);
  });

  test('an address for another method, or with anything added', async () => {
    const get = store.presign('GET', 'refused');
    expect((await send('PUT', get, { body: 'x' })).code).toBe('SignatureDoesNotMatch');
    const put = store.presign('PUT', 'refused');
    expect((await send('PUT', `${put}&acl`, { body: 'x' })).code).toBe('SignatureDoesNotMatch');
    expect((await send('PUT', `${put}&X-Amz-Expires=9999`, { body: 'x' })).status).toBeGreaterThanOrEqual(400);
    expect((await send('PUT', put.replace('refused', 'refused2'), { body: 'x' })).code).toBe('SignatureDoesNotMatch');
    expect(await exists('refused')).toBe(false);
  });

  test('a bucket that does not exist', async () => {
    const url = store.presignRaw({ method: 'PUT', bucket: 'absent', key: 'a', expiresInSeconds: 60, now: Date.now() });
    expect((await send('PUT', url, { body: 'x' })).code).toBe('NoSuchBucket');
  });

  test('more than the largest object, before the body', async () => {
    const url = store.presign('PUT', 'too-large');
    const request = `PUT ${targetOf(url)} HTTP/1.1\r\nHost: 127.0.0.1:${store.port}\r\nContent-Length: 10000001\r\n\r\n`;
    expect(await sendBytes(store.port, request)).toMatch(/^HTTP\/1.1 400 .*<Code>EntityTooLarge</s);
  });

  test('two framings at once', async () => {
    const url = store.presign('PUT', 'framed', { contentLength: 5 });
    const head = `PUT ${targetOf(url)} HTTP/1.1\r\nHost: 127.0.0.1:${store.port}\r\n`;
    const framings = [
      'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n1234567\r\n0\r\n\r\n',
      'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n7\r\n1234567\r\n0\r\n\r\n',
      'Content-Length: 5\r\nContent-Length: 7\r\n\r\n1234567',
    ];
    for (const framing of framings) {
      const answer = await sendBytes(store.port, head + framing);
      expect(answer).toMatch(/^HTTP\/1.1 400 /);
      expect(answer).toContain('access-control-allow-origin: *');
    }
    expect(await exists('framed')).toBe(false);
  });

  test('a body that stops short', async () => {
    const url = store.presign('PUT', 'short', { contentLength: 100_000 });
    const head = `PUT ${targetOf(url)} HTTP/1.1\r\nHost: 127.0.0.1:${store.port}\r\nContent-Length: 100000\r\n\r\n`;
    const files = store.files().length;
    expect(await sendBytes(store.port, `${head}12345`, { halfClose: true })).toMatch(
      /^HTTP\/1.1 400 .*IncompleteBody/s,
    );
    const socket = connect(store.port, '127.0.0.1');
    socket.write(`${head}12345`);
    await until(() => store.files().length === files + 1);
    socket.destroy();
    await until(() => store.files().length === files);
    expect(await exists('short')).toBe(false);
  });
});

test.each(['', ' ', '\t'])('an Expect header that expects nothing ("%s") is ignored', async (expectation) => {
  const url = store.presign('PUT', 'expects-nothing', { contentLength: 5 });
  const head = `PUT ${targetOf(url)} HTTP/1.1\r\nHost: 127.0.0.1:${store.port}\r\nConnection: close\r\nContent-Length: 5\r\n`;
  expect(await sendBytes(store.port, `${head}Expect:${expectation}\r\n\r\nhello`)).toMatch(/^HTTP\/1.1 200 /);
});

describe('Expect: 100-continue', () => {
  const expecting = (url: string) =>
    `PUT ${targetOf(url)} HTTP/1.1\r\nHost: 127.0.0.1:${store.port}\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 5\r\n\r\n`;

  test('a refusal comes before the body', async () => {
    const url = store.presign('PUT', 'expected').replace(/Signature=./, 'Signature=x');
    const answer = await sendBytes(store.port, expecting(url));
    expect(answer).toMatch(/^HTTP\/1.1 403 /);
    expect(answer).not.toContain('100 Continue');
  });

  test('a good request is told to go on', async () => {
    const answer = await sendBytes(store.port, `${expecting(store.presign('PUT', 'expected'))}hello`);
    expect(answer).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/);
    expect(await text('expected')).toBe('hello');
  });
});
