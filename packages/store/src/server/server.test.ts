import { connect } from 'node:net';
import { createRequestSigner } from '@cadiz/sigv4';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  blobFile,
  bucket,
  countOpen,
  folderOfTest,
  keys,
  region,
  send,
  sendBytes,
  startStore,
  type TestStore,
  targetOf,
  until,
} from '../../test/running-store.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startStore();
  await send('PUT', store.presign('PUT', 'there'), { body: 'hello' });
});
afterAll(() => store.close());

test('a browser’s preflight needs no signature', async () => {
  const headers = {
    origin: 'https://app.example',
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'content-type,if-none-match',
  };
  const answer = await send('OPTIONS', `${store.endpoint}/${bucket}/any`, { headers });
  expect(answer.status).toBe(204);
  expect(answer.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-headers': 'content-type,if-none-match',
  });
  expect(answer.headers['access-control-allow-methods']).toContain('PUT');
});

test('a page that is isolated from other origins may embed an object', async () => {
  const { status, headers } = await send('GET', store.presign('GET', 'there'));
  expect([status, headers['cross-origin-resource-policy']]).toEqual([200, 'cross-origin']);
});

test.each([
  ['POST', 'there', { restore: '' }],
  ['PUT', '', { versioning: '' }],
  ['PUT', 'there', { tagging: '' }],
  ['PUT', 'there', { 'legal-hold': '' }],
  ['DELETE', '', { analytics: '', id: 'a' }],
  ['PUT', '', { 'object-lock': '' }],
  ['PATCH', 'there', {}],
])('%s of "%s" with %o is not implemented, and says so', async (method, key, query) => {
  const answer = await send(method, store.presign(method, key, { query }));
  expect([answer.status, answer.code]).toEqual([501, 'NotImplemented']);
});

describe('a request that names the bucket in its host', () => {
  const inHost = (name: string, method: string, path: string, more = {}) => {
    const host = `${name}.store.example:${store.port}`;
    const signed = createRequestSigner({ ...keys, region })({
      method,
      host,
      path,
      payloadHash: 'UNSIGNED-PAYLOAD',
      now: Date.now(),
    });
    return send(method, `${store.endpoint}${path}`, {
      headers: { ...signed, host, ...more },
      ...(method === 'PUT' && { body: 'hello' }),
    });
  };

  test.each([
    ['PUT', '/', 'NotImplemented'],
    ['GET', '/dir/a.jpg', 'NoSuchBucket'],
    ['PUT', '/Upper/a.jpg', 'InvalidBucketName'],
    ['PUT', '/a.jpg', 'MalformedXML'],
  ])('is refused: %s %s, and told to name it in the path', async (method, path, code) => {
    const answer = await inHost(bucket, method, path);
    expect(answer.code).toBe(code);
    expect(answer.text).toContain(`If the bucket ${bucket} is meant, name it in the path`);
  });

  test('finds out nothing more about buckets that do not exist, or without a valid signature', async () => {
    expect((await inHost('absent', 'GET', '/dir/a.jpg')).text).not.toContain('path style');
    expect((await inHost(bucket, 'GET', '/dir/a.jpg', { 'x-amz-date': '20300101T000000Z' })).text).not.toContain(
      'path style',
    );
    expect((await inHost(bucket, 'GET', `/${bucket}/absent`)).text).not.toContain('path style');
  });
});

describe('a signature that does not match', () => {
  const put = (more: object, headers: Record<string, string>) =>
    send('PUT', store.presign('PUT', 'there', more), { headers, body: '123456789' });

  test('is reported with the method and the values of the signed headers that arrived', async () => {
    const short = await put({ contentLength: 10 }, {});
    expect(short.code).toBe('SignatureDoesNotMatch');
    expect(short.text).toContain(`content-length 9, host 127.0.0.1:${store.port}.`);
    const typed = await put({ headers: { 'content-type': 'image/png' } }, { 'content-type': '<text/html>' });
    expect(typed.text).toContain('content-type &lt;text/html&gt;, host');
    const swapped = await send('DELETE', store.presign('PUT', 'there'), { headers: { 'content-type': 'a/b' } });
    expect(swapped.text).toContain(`with another key: method DELETE, host 127.0.0.1:${store.port}.`);
  });

  test('because the body is a stream without a length is told so, and suspects nothing else', async () => {
    const { status, text } = await put({ contentLength: 9 }, { 'transfer-encoding': 'chunked' });
    expect(status).toBe(403);
    expect(text).toContain('content-length was not sent. A client that is given a stream must be told its length.</');
  });

  test('is never reported with a value that must stay secret', async () => {
    const headers = { 'x-amz-meta-a': 'private', authorization: 'private' };
    const answer = await put({ headers: { 'x-amz-meta-a': 'b' } }, headers);
    expect(answer.text).not.toContain('private');
  });
});

test('a signed header is obeyed, however many others come before it', async () => {
  const key = 'behind-many';
  const headers = { 'content-md5': Buffer.alloc(16).toString('base64') };
  const url = new URL(store.presign('PUT', key, { headers }));
  const socket = connect(store.port, '127.0.0.1').setEncoding('utf8');
  const lines = [
    ...[`PUT ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`, 'Content-Length: 5', 'Connection: close'],
    ...Array<string>(1010).fill('a:'),
    `Content-MD5: ${headers['content-md5']}`,
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\nhello`);
  let answer = '';
  for await (const text of socket) answer += text;
  expect(answer).toContain('<Code>BadDigest</Code>');
  expect((await send('HEAD', store.presign('HEAD', key))).status).toBe(404);
});

test('a target may be a whole URL', async () => {
  const url = store.presign('GET', 'there');
  const answer = await sendBytes(
    store.port,
    `GET ${url} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nConnection: close\r\n\r\n`,
  );
  expect(answer).toMatch(/^HTTP\/1.1 200 .*hello$/s);
});

describe('bad requests', () => {
  const line = `GET /${bucket}/there HTTP/1.1\r\n`;

  test.each([
    ['headers without end', `${line}Host: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['a target that is no URL', `GET a/b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, 400],
    ['an unknown expectation', `${line}Host: a\r\nExpect: more\r\nConnection: close\r\n\r\n`, 417],
    ['a header line that is none', `${line}Host: a\r\nnot a header\r\n\r\n`, 400],
  ])('%s', async (_name, bytes, status) => {
    const answer = await sendBytes(store.port, bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain('access-control-allow-origin: *');
    expect(answer).toContain('<Error><Code>');
  });

  const preflight = 'Origin: http://a\r\nAccess-Control-Request-Method: GET\r\n';
  test.each([
    ['no Host', `${line}\r\n`],
    ['an invalid Host', `${line}Host: a b\r\n\r\n`],
    ['two Hosts', `${line}Host: a\r\nHost: b\r\n\r\n`],
    ['a preflight without Host', `OPTIONS /${bucket}/there HTTP/1.1\r\n${preflight}\r\n`],
    ['a preflight with an invalid Host', `OPTIONS /${bucket}/there HTTP/1.1\r\nHost: a b\r\n${preflight}\r\n`],
    ['another coding', `${line}Host: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['HTTP/2', `${line.replace('1.1', '2.0')}Host: a\r\n\r\n`],
  ])('%s: 400 and closed, and what follows is no request', async (_name, bytes) => {
    const answer = await sendBytes(store.port, `${bytes}${line}Host: a\r\n\r\n`);
    expect(answer.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 400']);
    expect(answer).toMatch(/connection: close/i);
    expect(answer).toContain('<Error><Code>InvalidRequest</Code>');
  });

  test('a refused upload is told why, even if it reads only after sending everything', async () => {
    const url = store.presign('PUT', 'there', { contentLength: 5 });
    const body = Buffer.alloc(8_000_000);
    const socket = connect(store.port, '127.0.0.1').pause();
    const head = `PUT ${targetOf(url)} HTTP/1.1\r\nHost: 127.0.0.1:${store.port}\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(head);
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.write(body, () => resolve());
    });
    const answer = Buffer.concat(await socket.toArray()).toString();
    expect(answer).toMatch(/^HTTP\/1.1 403 .*connection: close.*SignatureDoesNotMatch/s);
  });

  test('a connection goes on working after errors', async () => {
    const absent = store.presign('GET', 'absent').slice(store.endpoint.length);
    const request = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${store.port}\r\n${more}\r\n`;
    const there = store.presign('GET', 'there').slice(store.endpoint.length);
    const answer = await sendBytes(store.port, request(absent) + request(there, 'Connection: close\r\n'));
    expect(answer).toMatch(/^HTTP\/1.1 404 .*HTTP\/1.1 200 .*hello$/s);
  });
});

test('a body that drips is cut off and leaves nothing; one that keeps moving is not cut off (checklist 48)', async () => {
  const impatient = await startStore({ slowBodyMilliseconds: 1_000 });
  const headOf = (key: string, contentLength: number) => {
    const url = impatient.presign('PUT', key, { contentLength });
    return `PUT ${targetOf(url)} HTTP/1.1\r\nHost: 127.0.0.1:${impatient.port}\r\nContent-Length: ${contentLength}\r\n\r\n`;
  };
  const send = async (key: string, contentLength: number, piece: string) => {
    const socket = connect(impatient.port, '127.0.0.1').setEncoding('utf8');
    let text = '';
    socket.on('data', (data) => {
      text += data;
      socket.end();
    });
    socket.on('error', () => undefined);
    socket.write(headOf(key, contentLength));
    let left = contentLength;
    const drip = setInterval(() => {
      if (left > 0) socket.write(piece);
      left -= piece.length;
    }, 20);
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(drip);
    return text;
  };
  const [dripped, moved] = await Promise.all([send('dripped', 1_000, 'x'), send('moved', 150_000, 'x'.repeat(1_000))]);
  expect(dripped).toBe('');
  expect(moved).toMatch(/^HTTP\/1.1 200 /);
  await until(() => impatient.files().every((file) => !file.includes('incoming/')));
  await impatient.close();
});

test('an answer that nobody reads is cut off, also behind an upload on the same connection', async () => {
  const dataDir = folderOfTest();
  const patient = await startStore({ dataDir });
  await send('PUT', patient.presign('PUT', 'large'), { body: Buffer.alloc(40 * 1024 * 1024) });
  await patient.close();
  const impatient = await startStore({ dataDir, idleMilliseconds: 500 });
  const head = (method: string, key: string) =>
    `${method} ${targetOf(impatient.presign(method, key))} HTTP/1.1\r\nHost: 127.0.0.1:${impatient.port}\r\n`;
  const socket = connect(impatient.port, '127.0.0.1').pause();
  socket.write(`${head('PUT', 'small')}Content-Length: 5\r\n\r\nhello${head('GET', 'large')}\r\n`);
  const reading = () => countOpen(blobFile) > 0;
  await until(reading);
  await until(() => !reading());
  socket.destroy();
  expect((await send('GET', impatient.presign('GET', 'small'))).text).toBe('hello');
  await impatient.close();
});

test('a body that stalls is cut off and leaves nothing', async () => {
  const impatient = await startStore({ idleMilliseconds: 150 });
  const url = impatient.presign('PUT', 'still', { contentLength: 100 });
  const head = `PUT ${targetOf(url)} HTTP/1.1\r\nHost: 127.0.0.1:${impatient.port}\r\nContent-Length: 100\r\n\r\n`;
  expect(await sendBytes(impatient.port, `${head}12345`)).toBe('');
  await until(() => impatient.files().length === 0);
  await impatient.close();
});
