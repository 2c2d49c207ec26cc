import { once } from 'node:events';
import net from 'node:net';
import type { Listening } from '@cadiz/http-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Person, startTestService, type TestService } from '../../test/service.ts';
import { createApp } from './app.ts';
import { listen } from './listen.ts';

let service: TestService;
let ada: Person;
let key: string;
let projectId: string;
let listening: Listening;
/** The same with short limits, for deliberately slow clients. */
let hasty: Listening;

beforeAll(async () => {
  service = await startTestService();
  ada = await service.signUp();
  projectId = await service.createProject(ada);
  ({ key } = await service.createKey(ada, projectId));
  listening = await listen(createApp(service.deps), '127.0.0.1', 0);
  hasty = await listen(createApp(service.deps), '127.0.0.1', 0, {
    headersTimeout: 400,
    requestTimeout: 800,
    connectionsCheckingInterval: 100,
  });
});
afterAll(async () => {
  await Promise.all([listening.close(0), hasty.close(0)]);
  await service.close();
});

interface Raw {
  status: number;
  head: string;
  body: string;
}

/** Sends raw bytes and reads until the other side closes. */
async function sendRaw(port: number, ...pieces: (string | Buffer)[]): Promise<Raw> {
  const socket = net.connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  // The other side may close while we are still writing: its answer still counts.
  socket.on('error', () => undefined);
  for (const piece of pieces) socket.write(piece);
  await once(socket, 'close');
  return toRaw(Buffer.concat(chunks).toString('latin1'));
}

function toRaw(text: string): Raw {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), head, body: rest.join('\r\n\r\n') };
}

function request(line: string, headers: Record<string, string> = {}, body = ''): string {
  const all = { Host: 'localhost', Connection: 'close', ...headers };
  const fields = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${fields.join('')}\r\n${body}`;
}

const json = (bytes: number | string) => ({
  Cookie: ada.cookie,
  'Content-Type': 'application/json',
  'Content-Length': String(bytes),
});
const chunked = () => ({ Cookie: ada.cookie, 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' });
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const codeOf = ({ body }: Raw): string => JSON.parse(body).code;
const isAlive = async ({ port }: Listening) => (await sendRaw(port, request('GET /livez'))).status === 200;

describe('a request over the wire', () => {
  test('is answered as in memory, with the headers that every answer bears', async () => {
    const body = JSON.stringify({ projectId, fileName: 'é.jpg', mimeType: 'image/jpeg', fileSize: 1, folderId: null });
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const length = { 'Content-Length': String(Buffer.byteLength(body)) };
    const raw = await sendRaw(listening.port, request('POST /api/storage/presign', { ...headers, ...length }, body));
    expect(raw.status).toBe(200);
    expect(Object.keys(JSON.parse(raw.body))).toEqual(['presignedUrl', 'storeKey']);
    for (const header of [
      /^X-Request-Id: [0-9a-f-]{36}$/im,
      /^Cache-Control: no-store$/im,
      /^X-Content-Type-Options: nosniff$/im,
    ]) {
      expect(raw.head).toMatch(header);
    }
    expect(raw.head).not.toMatch(/^(?:Server|X-Powered-By):/im);
  });

  test('in pieces, byte by byte, is one request', async () => {
    const body = '{"name":"é 🌞"}';
    const whole = Buffer.from(request('POST /api/projects', json(Buffer.byteLength(body)), body));
    const socket = net.connect(listening.port, '127.0.0.1');
    socket.setNoDelay(true);
    let text = '';
    socket.setEncoding('utf8').on('data', (data) => {
      text += data;
    });
    for (let at = 0; at < whole.length; at += 7) {
      socket.write(whole.subarray(at, at + 7));
      await new Promise(setImmediate);
    }
    await once(socket, 'close');
    expect(JSON.parse(toRaw(text).body).name).toBe('é 🌞');
  });

  test('chunked is taken up to 64 KiB', async () => {
    const small = await sendRaw(
      listening.port,
      request('POST /api/projects', chunked(), `${chunk('{"name":')}${chunk('"P"}')}0\r\n\r\n`),
    );
    expect(small.status).toBe(200);
    const large = chunk(' '.repeat(16_384)).repeat(4);
    const raw = await sendRaw(
      listening.port,
      request('POST /api/projects', chunked(), `${large}${chunk('{"name":"P"}')}0\r\n\r\n`),
    );
    expect([raw.status, codeOf(raw)]).toEqual([413, 'body_too_large']);
  });

  test('that says it is too large is refused before its body comes', async () => {
    const raw = await sendRaw(listening.port, request('POST /api/projects', json(1_000_000_000)));
    expect([raw.status, codeOf(raw)]).toEqual([413, 'body_too_large']);
  });

  test('that asks first (Expect: 100-continue) is told no without sending', async () => {
    const raw = await sendRaw(
      listening.port,
      request('POST /api/projects', { ...json(65_537), Expect: '100-continue' }),
    );
    expect([raw.status, codeOf(raw)]).toEqual([413, 'body_too_large']);
    expect(raw.head).not.toContain('100 Continue');
  });

  test('that asks first is told yes when it may', async () => {
    const socket = net.connect(listening.port, '127.0.0.1').setEncoding('utf8');
    socket.write(request('POST /api/projects', { ...json(12), Expect: '100-continue' }));
    const [first] = await once(socket, 'data');
    expect(first).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    socket.write('{"name":"P"}');
    const [second] = await once(socket, 'data');
    expect(toRaw(second).status).toBe(200);
    socket.destroy();
  });

  test('that asks first is told yes up to what its route takes', async () => {
    const path = '/api/storage/uploads/0199f3a0-0000-7000-8000-000000000000/complete';
    for (const [size, told] of [
      [1024 * 1024, 'HTTP/1.1 100 Continue'],
      [1024 * 1024 + 1, 'HTTP/1.1 413'],
    ] as const) {
      const socket = net.connect(listening.port, '127.0.0.1').setEncoding('utf8');
      socket.write(request(`POST ${path}`, { ...json(size), Expect: '100-continue' }));
      const [first] = await once(socket, 'data');
      expect(first.slice(0, told.length)).toBe(told);
      socket.destroy();
    }
  });

  test('with a body that is not UTF-8 is refused', async () => {
    const body = Buffer.from([...Buffer.from('{"name":"'), 0xff, ...Buffer.from('"}')]);
    const raw = await sendRaw(listening.port, request('POST /api/projects', json(body.length)), body);
    expect([raw.status, codeOf(raw)]).toEqual([400, 'invalid_request']);
  });

  test('with a byte order mark is refused by a message that names it, since it cannot be seen', async () => {
    const body = Buffer.from('\uFEFF{"name":"P"}');
    const raw = await sendRaw(listening.port, request('POST /api/projects', json(body.length)), body);
    expect([raw.status, codeOf(raw)]).toEqual([400, 'invalid_request']);
    expect(JSON.parse(raw.body).detail).toBe('The body begins with a byte order mark: send UTF-8 without one.');
  });

  test('several times on one connection is answered in order, refused or not', async () => {
    const keepAlive = { Connection: 'keep-alive' };
    const raw = await sendRaw(
      listening.port,
      request('POST /api/projects', { ...json(2), ...keepAlive }, '{}'),
      request('POST /api/projects', { ...json(70_000), ...keepAlive }, ' '.repeat(70_000)),
      request('GET /nothing', keepAlive),
      request('GET /livez'),
    );
    const statuses = [...`${raw.head}${raw.body}`.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
    expect(statuses).toEqual([400, 413, 404, 200]);
  });
});

describe('an odd request', () => {
  test.each([
    ['TRACE /', 405],
    ['OPTIONS /api/projects', 405],
    ['OPTIONS *', 404],
    ['PROPFIND /api/projects', 405],
    ['GET http://other.example.com/livez', 200],
    ['GET http://localhost', 200],
    ['GET http://localhost?from=proxy', 200],
    ['GET http://localhost/projects', 200],
    ['GET /api/projects/%', 400],
    ['GET /api/projects/%ff', 400],
    ['GET /api/storage/list?projectId=%ff', 400],
    ['GET /api/storage/list?projectId=%', 400],
    ['GET /api/projects/../../livez', 404],
    ['GET //livez', 404],
    ['GET /livez?', 200],
    ['GET /livez#x', 404],
  ])('%s: %i', async (line, status) => {
    const raw = await sendRaw(listening.port, request(line, { Cookie: ada.cookie }));
    expect(raw.status).toBe(status);
    if (status !== 200) expect(raw.head).toMatch(/^Content-Type: application\/problem\+json$/im);
    if (status === 405) expect(raw.head).toMatch(/^Allow: [A-Z, ]+$/im);
  });

  test('HEAD has the headers of GET and no body', async () => {
    for (const path of [
      '/livez',
      '/openapi.json',
      '/errors/not_found',
      '/api/projects',
      `/api/storage/list?projectId=${projectId}`,
    ]) {
      const raw = await sendRaw(listening.port, request(`HEAD ${path}`, { Cookie: ada.cookie }));
      expect([path, raw.status, raw.body]).toEqual([path, 200, '']);
    }
  });

  test.each([
    ['no HTTP at all', 'hello\r\n\r\n', 'malformed_request'],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      'malformed_request',
    ],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'malformed_request',
    ],
    ['a negative length', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n', 'malformed_request'],
    ['an invalid length', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n', 'malformed_request'],
    ['NUL in a header', 'GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n', 'malformed_request'],
    [
      'headers over 16 KiB',
      `GET /livez HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17 * 1024)}\r\n\r\n`,
      'headers_too_large',
    ],
    [
      'very many headers',
      `GET /livez HTTP/1.1\r\nHost: x\r\n${'X-Something: y\r\n'.repeat(2000)}\r\n`,
      'headers_too_large',
    ],
  ])('%s is refused, and the service goes on', async (_what, text, code) => {
    const raw = await sendRaw(listening.port, text);
    expect(raw.head).toMatch(/\r\nContent-Type: application\/problem\+json\r\n/);
    expect(raw.head).toMatch(/\r\nX-Request-Id: [0-9a-f-]{36}\r\n/);
    expect([JSON.parse(raw.body).status, codeOf(raw)]).toEqual([raw.status, code]);
    expect(await isAlive(listening)).toBe(true);
  });

  test('a request without a host is refused', async () => {
    expect((await sendRaw(listening.port, 'GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n')).status).toBe(400);
  });

  test('cut off in the middle harms nobody', async () => {
    const before = service.logged().length;
    for (const text of [
      'POST /api/projects HTT',
      request('POST /api/projects', json(100), '{"name":'),
      request('POST /api/projects', chunked(), '5\r\n{"na'),
      request('POST /api/storage/presign', { ...json(100), Authorization: `Bearer ${key}` }, '{'),
    ]) {
      const socket = net.connect(listening.port, '127.0.0.1');
      await once(socket, 'connect');
      await new Promise((sent) => socket.write(text, sent));
      socket.resetAndDestroy();
      expect(await isAlive(listening)).toBe(true);
    }
    expect(service.logged().slice(before)).not.toContain('internal_error');
    expect(service.logged().slice(before)).not.toMatch(/"level":50/);
  });
});

describe('clients that are slow on purpose', () => {
  test('are cut off, at the headers and at the body, while others are served', async () => {
    const slowHeaders = sendRaw(hasty.port, 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ');
    const silent = sendRaw(hasty.port, 'G');
    const slowBody = sendRaw(
      hasty.port,
      request('POST /api/projects', { ...json(100), Connection: 'keep-alive' }, '{"na'),
    );
    const dripping = net.connect(hasty.port, '127.0.0.1').on('error', () => undefined);
    dripping.write('GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ');
    const drip = setInterval(() => dripping.write('x'), 50);
    expect(await isAlive(hasty)).toBe(true);

    expect((await slowHeaders).status).toBe(408);
    expect((await silent).status).toBe(408);
    expect([400, 408]).toContain((await slowBody).status);
    if (!dripping.closed) await once(dripping, 'close');
    clearInterval(drip);
    expect(await isAlive(hasty)).toBe(true);
  });
});

describe('stopping', () => {
  test('waits for what is under way, and takes nothing new', async () => {
    const stopping = await listen(createApp(service.deps), '127.0.0.1', 0);
    const body = '{"name":"late"}';
    const socket = net.connect(stopping.port, '127.0.0.1').setEncoding('utf8');
    socket.write(
      request('POST /api/projects', { ...json(body.length), Connection: 'keep-alive', Expect: '100-continue' }),
    );
    await once(socket, 'data');
    const closed = stopping.close(10_000);
    await expect(once(net.connect(stopping.port, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED');
    socket.write(body);
    const [answer] = await once(socket, 'data');
    expect(toRaw(answer).status).toBe(200);
    await closed;
  });

  test('does not wait for ever', async () => {
    const stopping = await listen(createApp(service.deps), '127.0.0.1', 0);
    const socket = net.connect(stopping.port, '127.0.0.1').on('error', () => undefined);
    socket.write(request('POST /api/projects', json(100), '{'));
    await once(socket, 'connect');
    const gone = once(socket, 'close');
    await stopping.close(100);
    await gone;
  });
});
