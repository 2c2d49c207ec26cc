import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Listening } from '@cadiz/http-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Person, startTestService, type TestService } from '../../test/service.ts';
import { createApp } from './app.ts';
import { listen } from './listen.ts';

let service: TestService;
let ada: Person;
let listening: Listening;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp();
  listening = await listen(createApp(service.deps), '127.0.0.1', 0);
});
afterAll(async () => {
  await listening.close(0);
  await service.close();
});

interface Spoken {
  statuses: number[];
  text: string;
  closed: boolean;
}

/** Sends raw bytes, and reads until the other side closes, or for a while after its first answer. */
async function speak(text: string, milliseconds = 400): Promise<Spoken> {
  const socket = net.connect(listening.port, '127.0.0.1').setEncoding('latin1');
  let answer = '';
  socket.on('data', (data) => {
    answer += data;
  });
  socket.on('error', () => undefined);
  socket.write(Buffer.from(text.replace('COOKIE', ada.cookie), 'latin1'));
  const closed = await Promise.race([
    once(socket, 'close').then(() => true),
    once(socket, 'data').then(() => delay(milliseconds, false)),
  ]);
  socket.destroy();
  const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  return { statuses, text: answer, closed };
}

const names = async () =>
  (await service.call('GET', '/api/projects', { as: ada })).body.projects.map(({ name }: { name: string }) => name);

/** A whole request that creates a project, to be hidden behind another one. */
const hidden = () => {
  const body = '{"name":"smuggled"}';
  return `POST /api/projects HTTP/1.1\r\nHost: x\r\nCookie: ${ada.cookie}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};
/** Ada's request; `speak` adds her cookie. */
const post = (headers: string, body = '') =>
  `POST /api/projects HTTP/1.1\r\nHost: x\r\nCookie: COOKIE\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`;
const own = '{"name":"own"}';
const chunks = `e\r\n${own}\r\n0\r\n\r\n`;

/** Some server reads each of these differently from others. */
const refused: [string, string][] = [
  ['Content-Length and Transfer-Encoding', post('Content-Length: 5\r\nTransfer-Encoding: chunked', '0\r\n\r\n')],
  ['Transfer-Encoding and Content-Length', post('Transfer-Encoding: chunked\r\nContent-Length: 5', '0\r\n\r\n')],
  ['one Content-Length twice', post('Content-Length: 14\r\nContent-Length: 14', own)],
  ['two Content-Lengths', post('Content-Length: 14\r\nContent-Length: 0', own)],
  ['a list of Content-Lengths', post('Content-Length: 14, 14', own)],
  ['a Content-Length with a sign', post('Content-Length: +14', own)],
  ['a hexadecimal Content-Length', post('Content-Length: 0xe', own)],
  ['a Content-Length in two words', post('Content-Length: 1 4', own)],
  ['an empty Content-Length', post('Content-Length: ', own)],
  ['an endless Content-Length', post('Content-Length: 99999999999999999999', own)],
  ['Transfer-Encoding: identity', post('Transfer-Encoding: identity')],
  ['Transfer-Encoding: identity, chunked', post('Transfer-Encoding: identity, chunked', chunks)],
  ['Transfer-Encoding: gzip, chunked', post('Transfer-Encoding: gzip, chunked', chunks)],
  ['Transfer-Encoding: chunked, identity', post('Transfer-Encoding: chunked, identity', chunks)],
  ['Transfer-Encoding: xchunked', post('Transfer-Encoding: xchunked', chunks)],
  ['Transfer-Encoding twice', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', chunks)],
  ['Transfer-Encoding after a control character', post('Transfer-Encoding: \x0bchunked', chunks)],
  ['Transfer-Encoding of HTTP/1.0', post('Transfer-Encoding: chunked', chunks).replace('HTTP/1.1', 'HTTP/1.0')],
  ['a space before the colon', post('Transfer-Encoding : chunked', chunks)],
  ['a tab before the colon', post('Transfer-Encoding\t: chunked', chunks)],
  ['a space before the colon of Content-Length', post('Content-Length : 14', own)],
  ['a folded line', post('X: a\r\n b')],
  ['a folded Transfer-Encoding', post('Transfer-Encoding:\r\n chunked', chunks)],
  ['a folded Content-Length', post('Content-Length:\r\n 14', own)],
  ['a first header line that is folded', 'GET /livez HTTP/1.1\r\n Host: x\r\n\r\n'],
  ['bare line feeds', `POST /api/projects HTTP/1.1\nHost: x\nContent-Length: 14\n\n${own}`],
  ['one bare line feed', post('X: a\nContent-Length: 14', own)],
  ['a bare carriage return', post('X: a\rContent-Length: 14', own)],
  ['two carriage returns', post('X: a\r')],
  ['a line feed at the end of the headers', post('Content-Length: 14').replace(/\r\n$/, '\n') + own],
  ['a chunk extension that ends in a line feed', post('Transfer-Encoding: chunked', `e;a\n${own}\r\n0\r\n\r\n`)],
  ['a chunk extension over lines', post('Transfer-Encoding: chunked', `e;a="\r\nb"\r\n${own}\r\n0\r\n\r\n`)],
  ['a negative chunk', post('Transfer-Encoding: chunked', `-e\r\n${own}\r\n0\r\n\r\n`)],
  ['a chunk of 0x', post('Transfer-Encoding: chunked', `0xe\r\n${own}\r\n0\r\n\r\n`)],
  ['a chunk beyond 64 bit', post('Transfer-Encoding: chunked', `1000000000000000e\r\n${own}\r\n0\r\n\r\n`)],
  ['a chunk with a space', post('Transfer-Encoding: chunked', `e \r\n${own}\r\n0\r\n\r\n`)],
  ['a chunk that is longer than it says', post('Transfer-Encoding: chunked', `e\r\n${own}X\r\n0\r\n\r\n`)],
  ['a chunk without its end', post('Transfer-Encoding: chunked', `e\r\n${own}0\r\n\r\n`)],
  ['chunks with bare line feeds', post('Transfer-Encoding: chunked', `e\n${own}\n0\n\n`)],
  ['a length among the trailers', post('Transfer-Encoding: chunked', `e\r\n${own}\r\n0\r\nContent-Length: 5\r\n\r\n`)],
  ['a space in a header name', post('X Y: 1')],
  ['an empty header name', post(': 1')],
  ['a header without a colon', post('XY')],
  ['NUL in a header name', post('X\0Y: 1')],
  ['a letter beyond ASCII in a header name', post('X\xe9: 1')],
  ['two hosts', post('Host: y\r\nContent-Length: 0')],
  ['one host twice', post('Host: x\r\nContent-Length: 0')],
  ['no host', 'GET /livez HTTP/1.1\r\n\r\n'],
  ...['a b', 'a, b', 'a/b', 'a:b', 'a@b', 'a?', '[::1', '::1', 'http://a', 'a:80:80', 'é'].map(
    (host): [string, string] => [`the host ${host}`, `GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
  ),
  ['no version', 'GET /livez\r\n\r\n'],
  ['HTTP/1.2', 'GET /livez HTTP/1.2\r\nHost: x\r\n\r\n'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['a tab in the request line', 'GET\t/livez HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a space after the version', 'GET /livez HTTP/1.1 \r\nHost: x\r\n\r\n'],
  ['a space in the target', 'GET /livez x HTTP/1.1\r\nHost: x\r\n\r\n'],
];

describe('a request that could be read in two ways', () => {
  test.concurrent.each(refused)('%s: 400 and closed, and what follows is no request', async (_what, text) => {
    const { statuses, text: answer, closed } = await speak(text + hidden(), 60_000);
    expect({ statuses, closed }).toEqual({ statuses: [400], closed: true });
    expect(answer).toMatch(/\r\nConnection: close\r\n/);
    expect(answer).toContain('"code":"malformed_request"');
  });

  test('none of them has changed anything', async () => {
    expect(await names()).toEqual([]);
  });
});

describe('what is odd, but can be read in one way only, is one request', () => {
  test.each([
    ['chunks', post('Transfer-Encoding: chunked', chunks)],
    ['chunks of another case', post('transfer-encoding: CHUNKED', chunks)],
    ['chunk extensions', post('Transfer-Encoding: chunked', `e;a=b;c="d"\r\n${own}\r\n0;x\r\n\r\n`)],
    ['trailers', post('Transfer-Encoding: chunked', `e\r\n${own}\r\n0\r\nAuthorization: Bearer x\r\n\r\n`)],
    ['empty lines before it', `\r\n\r\n${post('Content-Length: 14', own)}`],
    ['absolute-form', post('Content-Length: 14', own).replace('/api', 'http://other.example.com/api')],
    ['a length with an underscore', post(`Content_Length: 0\r\nContent-Length: 14`, own)],
    ['an expectation that nobody knows', post('Expect: 200-ok\r\nContent-Length: 14', own)],
  ])('%s', async (_what, text) => {
    const before = (await names()).length;
    const { statuses } = await speak(`${text}GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, 60_000);
    expect(statuses).toEqual([200, 200]);
    const after = await names();
    expect([after.length, after.includes('smuggled')]).toEqual([before + 1, false]);
  });

  test.each([
    [
      'the body of a GET',
      (inner: string) => `GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: ${inner.length}\r\n\r\n`,
      200,
    ],
    [
      'a body of another type',
      (inner: string) => post(`Content-Length: ${inner.length}`).replace('application/json', 'text/plain'),
      415,
    ],
    [
      'a body that nobody reads',
      (inner: string) => `POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: ${inner.length}\r\n\r\n`,
      404,
    ],
    ['an upgrade', () => 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n', 200],
  ])('%s is never taken for a request', async (_what, head, status) => {
    const inner = hidden();
    const { statuses } = await speak(head(inner) + inner);
    expect(statuses).toEqual([status]);
    expect(await names()).not.toContain('smuggled');
  });
});

test.each([
  '',
  'x',
  'a_b.example.com:80',
  '127.0.0.1:4000',
  '[::1]',
  '[fe80::1%25eth0]:4000',
  'xn--bcher-kva.example',
  'a:',
])('the host %j is valid', async (host) => {
  const { statuses } = await speak(`GET /livez HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`, 60_000);
  expect(statuses).toEqual([200]);
});

describe('methods (checklist 25)', () => {
  test.each([
    ['TRACE', '/api/projects', 'GET, POST, HEAD'],
    ['TRACE', '/', 'GET, HEAD'],
    ['PROPFIND', '/api/storage/presign', 'POST'],
    ['LINK', '/livez', 'GET, HEAD'],
    ['FOO', '/api/projects', 'GET, POST, HEAD'],
    ['get', '/api/projects?x=y', 'GET, POST, HEAD'],
    ['X-Y', '/livez', 'GET, HEAD'],
  ])('%s %s: 405 with what is allowed', async (method, path, allow) => {
    const { statuses, text } = await speak(
      `${method} ${path} HTTP/1.1\r\nHost: x\r\nCookie: a=secret\r\nConnection: close\r\n\r\n`,
      60_000,
    );
    expect(statuses).toEqual([405]);
    const allowed = /\r\nAllow: ([^\r]*)\r\n/.exec(text)?.[1] ?? '';
    expect(allowed.split(', ').sort()).toEqual(allow.split(', ').sort());
    expect(text).toContain('"code":"method_not_allowed"');
    // TRACE would return headers that scripts must not see.
    expect(text).not.toContain('secret');
  });

  test('FOO where there is nothing: 404', async () => {
    expect((await speak('FOO /nothing HTTP/1.1\r\nHost: x\r\n\r\n')).statuses).toEqual([404]);
  });

  test('CONNECT is answered, and opens nothing', async () => {
    const { statuses, closed } = await speak(`CONNECT example.com:80 HTTP/1.1\r\nHost: x\r\n\r\n${hidden()}`, 60_000);
    expect({ statuses, closed }).toEqual({ statuses: [405], closed: true });
    expect(await names()).not.toContain('smuggled');
  });
});

test('who resets the connection that a CONNECT came on ends nothing else (checklist 25)', async () => {
  for (let n = 0; n < 300; n += 1) {
    const socket = net.connect(listening.port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', () => socket.resetAndDestroy());
    await once(socket, 'close');
  }
  expect((await speak('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n')).statuses).toEqual([200]);
});

describe('limits over the wire', () => {
  test('headers over 16 KiB: 431 and closed', async () => {
    const long = `GET /livez HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17 * 1024)}\r\n\r\n`;
    expect(await speak(long, 60_000)).toMatchObject({ statuses: [431], closed: true });
  });

  test('chunk extensions are not a way to send more than a body may be', async () => {
    const text = post('Transfer-Encoding: chunked', `e;${'a'.repeat(20_000)}\r\n${own}\r\n0\r\n\r\n`);
    expect(await speak(text, 60_000)).toMatchObject({ statuses: [400], closed: true });
  });

  test('a body over 64 KiB: 413, by its length before it comes, by its chunks once they are too many', async () => {
    const asked = await speak(`${post('Expect: 100-continue\r\nConnection: close\r\nContent-Length: 65537')}`, 60_000);
    expect(asked.statuses).toEqual([413]);
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`;
    const sent = await speak(
      post('Connection: close\r\nTransfer-Encoding: chunked', `${chunk.repeat(5)}0\r\n\r\n`),
      60_000,
    );
    expect(sent.statuses).toEqual([413]);
  });
});
