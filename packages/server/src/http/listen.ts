import { once } from 'node:events';
import http from 'node:http';
import type { Duplex } from 'node:stream';
import type { App } from './app.ts';
import { maxBodyBytes } from './input.ts';
import { isAmbiguous } from './malformed.ts';
import { findRoute } from './router.ts';

export interface Listening {
  port: number;
  /** Takes no new connections, lets requests under way finish for so long, then closes what is left. */
  close(drainMilliseconds: number): Promise<void>;
}

/** Node closes nothing by itself that is slow: these are the bounds for clients that are slow on purpose. */
const slowest: http.ServerOptions = {
  headersTimeout: 8_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 2_000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16 * 1024,
};

/** CONNECT is answered as a method that nothing takes. */
const noProxy = { code: 'HPE_INVALID_METHOD', rawPacket: Buffer.from('CONNECT / HTTP/1.1\r\n') };

/** @throws the system's error when the port is taken (`code` EADDRINUSE) or the address is not this machine's */
export async function listen(app: App, host: string, port: number, limits = slowest): Promise<Listening> {
  const answer = (request: http.IncomingMessage, response: http.ServerResponse) => {
    if (isAmbiguous(request)) refuseRequest(app, request, response);
    else void app.listener(request, response);
  };
  const server = http.createServer(limits, answer);
  // However many headers fit into `maxHeaderSize`, each is looked at: Node would leave out those after the thousandth.
  server.maxHeadersCount = 0;
  // A client that asks before it sends is told no before it sends: the app refuses by Content-Length.
  server.on('checkContinue', (request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    const limit = findRoute(request.method ?? '', path)?.maxBodyBytes ?? maxBodyBytes;
    if (Number(request.headers['content-length'] ?? 0) <= limit) response.writeContinue();
    answer(request, response);
  });
  // An expectation that we do not know may be ignored (RFC 9110 §10.1.1); Node would answer by itself, without our headers.
  server.on('checkExpectation', answer);
  server.on('connect', (_request: http.IncomingMessage, socket: Duplex) => {
    // Node has let go of the socket: nobody else hears that its client has gone.
    socket.on('error', () => socket.destroy());
    refuse(app, Object.assign(new Error('This is no proxy'), noProxy), socket);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => refuse(app, error, socket));
  return serve(server, host, port);
}

/** Connections that get no other answer, whatever else Node finds wrong with what comes. */
const refused = new WeakSet<Duplex>();

function refuseRequest(app: App, { socket }: http.IncomingMessage, response: http.ServerResponse): void {
  refused.add(socket);
  const { status, headers, body } = app.refuse(new Error('The request can be read in two ways'));
  response.writeHead(status, [...headers, 'Content-Length', String(Buffer.byteLength(body))]).end(body);
}

/** There is no request to answer, only a connection: the answer is written by hand, and the connection closed. */
function refuse(app: App, error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  if (refused.has(socket)) {
    socket.end(() => socket.destroy());
    return;
  }
  const { status, headers, body } = app.refuse(error);
  const all = [...headers, 'Content-Length', String(Buffer.byteLength(body))];
  const lines = all.map((part, index) => (index % 2 === 0 ? `${part}: ` : `${part}\r\n`)).join('');
  // Not only ended: who sends slowly on purpose would hold the other half open.
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines}\r\n${body}`, () => socket.destroy());
}

/** Any server of ours, with the same way to start and to stop. */
export async function serve(server: http.Server, host: string, port: number): Promise<Listening> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    async close(drainMilliseconds) {
      const closed = once(server, 'close');
      server.close();
      // Kept-alive connections become idle one by one, as their last request is answered.
      const sweep = setInterval(() => server.closeIdleConnections(), 50);
      const end = setTimeout(() => server.closeAllConnections(), drainMilliseconds);
      await closed;
      clearInterval(sweep);
      clearTimeout(end);
    },
  };
}

/** @throws the system's error when the port is taken (`code` EADDRINUSE) or the address is not this machine's */
export async function requireFreePort(host: string, port: number): Promise<void> {
  const listening = await serve(http.createServer(), host, port);
  await listening.close(0);
}
