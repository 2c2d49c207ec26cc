import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { setTimeout as delay, setImmediate as immediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createBoundedServer, inTurn, refuseConnection, serve, together } from './index.ts';

/** Reads all that comes until the server ends the connection. */
async function readToEnd(socket: net.Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'end');
  return Buffer.concat(chunks).toString();
}

async function connect(port: number, options: net.SocketConstructorOpts = {}): Promise<net.Socket> {
  const socket = new net.Socket(options).connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

test('a port that is taken is an error', async () => {
  const { port, close } = await serve(createBoundedServer({}), '127.0.0.1', 0);
  await expect(serve(createBoundedServer({}), '127.0.0.1', port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await close(0);
});

test('all headers that fit are seen, however many', async () => {
  const server = createBoundedServer({});
  server.on('request', ({ headers }, response) => response.end(String(headers['x-last'])));
  const { port, close } = await serve(server, '127.0.0.1', 0);
  const socket = await connect(port);
  const answer = readToEnd(socket);
  socket.write(`GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${'a:b\r\n'.repeat(1500)}X-Last: seen\r\n\r\n`);
  expect(await answer).toContain('seen');
  await close(0);
});

test('bytes that are no request are answered, and the connection is closed on both sides', async () => {
  const server = createBoundedServer({});
  const left: Promise<unknown>[] = [];
  server.on('connection', (socket) => left.push(once(socket, 'close')));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    refuseConnection(error, socket, ({ code = '' }) => ({ status: 400, headers: ['X-Code', code], body: 'né' })),
  );
  const { port, close } = await serve(server, '127.0.0.1', 0);
  // Keeps its own half open for ever.
  const socket = await connect(port, { allowHalfOpen: true });
  const answer = readToEnd(socket);
  socket.write('no request\r\n\r\n');
  expect(await answer).toBe('HTTP/1.1 400 Bad Request\r\nX-Code: HPE_INVALID_METHOD\r\nContent-Length: 3\r\n\r\nné');
  await Promise.all(left);
  socket.destroy();
  await close(0);
});

describe('requests that a client sends without waiting for answers', () => {
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

  /** Handles requests in turn, and leaves it to the test to answer. */
  async function open() {
    const handled: { url: string | undefined; response: http.ServerResponse }[] = [];
    const closed: Promise<unknown>[] = [];
    const server = createBoundedServer({});
    server.on('connection', (socket) => closed.push(once(socket, 'close')));
    server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      refuseConnection(error, socket, () => ({ status: 400, headers: [], body: 'refused' })),
    );
    server.on(
      'request',
      inTurn(({ url }, response) => handled.push({ url, response })),
    );
    const { port, close } = await serve(server, '127.0.0.1', 0);
    onTestFinished(() => close(0));
    return { socket: await connect(port), handled, closed };
  }

  test('are handled in turn', async () => {
    const { socket, handled } = await open();
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.write(get('/1') + get('/2') + get('/3'));
    for (const turn of [1, 2, 3]) {
      await expect.poll(() => handled.map(({ url }) => url)).toEqual(['/1', '/2', '/3'].slice(0, turn));
      handled.at(-1)?.response.end(`answer ${turn}`);
      await expect.poll(() => text).toContain(`answer ${turn}`);
    }
    expect(text.match(/answer \d/g)).toEqual(['answer 1', 'answer 2', 'answer 3']);
  });

  test('are answered before bytes after them that are no request are refused', async () => {
    const { socket, handled } = await open();
    const answers = readToEnd(socket);
    socket.write(get('/1') + get('/2'));
    await expect.poll(() => handled).toHaveLength(1);
    handled[0]?.response.writeHead(200, { 'Content-Length': 8 }).write('answer');
    socket.write('no request\r\n\r\n');
    await delay(50);
    socket.write('nor is this\r\n\r\n');
    handled[0]?.response.end(' 1');
    await expect.poll(() => handled).toHaveLength(2);
    handled[1]?.response.end('answer 2');
    expect((await answers).match(/HTTP\/1.1 \d+|answer \d|refused/g)).toEqual([
      ...['HTTP/1.1 200', 'answer 1', 'HTTP/1.1 200', 'answer 2'],
      ...['HTTP/1.1 400', 'refused'],
    ]);
  });

  test('are answered before one with a malformed body is refused', async () => {
    const { socket, handled } = await open();
    const answers = readToEnd(socket);
    socket.write(`${get('/1')}POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n`);
    await expect.poll(() => handled).toHaveLength(1);
    handled[0]?.response.end('answer 1');
    expect((await answers).match(/answer \d|refused/g)).toEqual(['answer 1', 'refused']);
  });

  test('are cut off if the body of one that is being answered is malformed', async () => {
    const { socket, handled } = await open();
    const answers = readToEnd(socket);
    socket.write('POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    await expect.poll(() => handled).toHaveLength(1);
    handled[0]?.response.writeHead(200, { 'Content-Length': 1000 }).write('begun');
    socket.write('no size\r\n');
    expect((await answers).match(/HTTP\/1.1 \d+|begun|refused/g)).toEqual(['HTTP/1.1 200', 'begun']);
  });

  test('and wait when the connection closes are not handled at all', async () => {
    const { socket, handled, closed } = await open();
    socket.write(get('/1') + get('/2'));
    await expect.poll(() => handled).toHaveLength(1);
    socket.destroy();
    await Promise.all(closed);
    expect(handled.map(({ url, response }) => [url, response.destroyed])).toEqual([['/1', true]]);
  });

  test('and are too many end the connection', async () => {
    const { socket, handled, closed } = await open();
    socket.on('error', () => undefined);
    socket.write(get('/1').repeat(101));
    await expect.poll(() => handled).toHaveLength(1);
    expect(socket.destroyed).toBe(false);
    socket.write(get('/one-too-many'));
    await Promise.all(closed);
    expect(handled).toHaveLength(1);
  });
});

test('requests that arrive in one turn are handled after it, each step of all before the next', async () => {
  const steps: string[] = [];
  const listener = together(async ({ url }) => {
    steps.push(`begin ${url}`);
    await undefined;
    steps.push(`end ${url}`);
  });
  const arrive = (url: string) => {
    const request = Object.assign(new http.IncomingMessage(new net.Socket()), { url });
    listener(request, new http.ServerResponse(request));
  };
  arrive('/1');
  arrive('/2');
  expect(steps).toEqual([]);
  await immediate();
  expect(steps).toEqual(['begin /1', 'begin /2', 'end /1', 'end /2']);
  arrive('/3');
  await immediate();
  expect(steps.slice(4)).toEqual(['begin /3', 'end /3']);
});

test('closing lets a request under way finish', async () => {
  const { server, responses } = createSlowServer();
  const { port, close } = await serve(server, '127.0.0.1', 0);
  const asked = await ask(port);
  const closed = close(60_000);
  await delay(100);
  responses[0]?.end('done');
  expect(await readAnswer(asked)).toBe('begun done');
  await closed;
});

test('closing cuts off a request that takes longer', async () => {
  const { server } = createSlowServer();
  const { port, close } = await serve(server, '127.0.0.1', 0);
  const cut = expect(readAnswer(await ask(port))).rejects.toThrow('aborted');
  await close(10);
  await cut;
});

test('closing waits for the request of a connection that was opened just before', async () => {
  const server = createBoundedServer({});
  server.on('request', (_request, response) => response.end('answered'));
  const { port, close } = await serve(server, '127.0.0.1', 0);
  const accepted = once(server, 'connection');
  const socket = await connect(port);
  await accepted;
  const closed = close(10_000);
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(await readToEnd(socket)).toMatch(/answered$/);
  await closed;
});

test('closing does not wait for connections that have sent nothing', async () => {
  const server = createBoundedServer({ headersTimeout: 0 });
  const accepted = once(server, 'connection');
  const { port, close } = await serve(server, '127.0.0.1', 0);
  const socket = await connect(port);
  const ended = readToEnd(socket);
  await accepted;
  // Longer than a test may take.
  await close(600_000);
  expect(await ended).toBe('');
});

/** Begins every answer, and leaves it to the test to end it. */
function createSlowServer() {
  const responses: http.ServerResponse[] = [];
  const server = createBoundedServer({});
  server.on('request', (_request, response) => {
    responses.push(response);
    response.write('begun ');
  });
  return { server, responses };
}

/** Resolves when the answer has begun. */
async function ask(port: number): Promise<http.IncomingMessage> {
  const [response] = await once(http.get({ host: '127.0.0.1', port }), 'response');
  return response;
}

async function readAnswer(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
