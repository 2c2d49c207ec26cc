import { once } from 'node:events';
import http from 'node:http';
import type { Duplex } from 'node:stream';
import type { App } from './app.ts';
import { maxBodyBytes } from './input.ts';
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

/** @throws the system's error when the port is taken (`code` EADDRINUSE) or the address is not this machine's */
export async function listen(app: App, host: string, port: number, limits = slowest): Promise<Listening> {
  const server = http.createServer(limits, (request, response) => void app.listener(request, response));
  // A client that asks before it sends is told no before it sends: the app refuses by Content-Length.
  server.on('checkContinue', (request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    const limit = findRoute(request.method ?? '', path)?.maxBodyBytes ?? maxBodyBytes;
    if (Number(request.headers['content-length'] ?? 0) <= limit) response.writeContinue();
    void app.listener(request, response);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => refuse(app, error, socket));
  return serve(server, host, port);
}

/** There is no request to answer, only a connection: the answer is written by hand, and the connection closed. */
function refuse(app: App, error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, headers, text } = app.refuse(error);
  const all = [...headers, 'Content-Length', String(Buffer.byteLength(text)), 'Connection', 'close'];
  const lines = all.map((part, index) => (index % 2 === 0 ? `${part}: ` : `${part}\r\n`)).join('');
  // Not only ended: who sends slowly on purpose would hold the other half open.
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines}\r\n${text}`, () => socket.destroy());
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
