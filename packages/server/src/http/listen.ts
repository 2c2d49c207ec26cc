import http from 'node:http';
import type { Duplex } from 'node:stream';
import {
  createBoundedServer,
  inTurn,
  isAmbiguous,
  type Listening,
  refuseConnection,
  serve,
  together,
} from '@cadiz/http-server';
import type { App } from './app.ts';
import { maxBodyBytes } from './input.ts';
import { writeWhole } from './node.ts';
import { findRoute } from './router.ts';

/** How long a whole request may take. */
const slowest: http.ServerOptions = { requestTimeout: 15_000 };

/** CONNECT is answered like a method that no path accepts. */
const noProxy = { code: 'HPE_INVALID_METHOD', rawPacket: Buffer.from('CONNECT / HTTP/1.1\r\n') };

/** @throws the system's error if the port is taken (`code` EADDRINUSE) or the address is not this machine's */
export async function listen(app: App, host: string, port: number, limits = slowest): Promise<Listening> {
  const answer = together((request, response) => {
    if (isAmbiguous(request)) refuseRequest(app, response);
    else void app.listener(request, response);
  });
  // Node would answer a request without Host itself, without our headers: `isAmbiguous` looks for it.
  const server = createBoundedServer({ ...limits, requireHostHeader: false });
  server.on('request', inTurn(answer));
  // A client that asks before sending is refused before it sends: the app checks Content-Length.
  const answerContinue = inTurn((request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    const limit = findRoute(request.method ?? '', path)?.maxBodyBytes ?? maxBodyBytes;
    if (Number(request.headers['content-length'] ?? 0) <= limit) response.writeContinue();
    answer(request, response);
  });
  server.on('checkContinue', answerContinue);
  // RFC 9110 §10.1.1 lets us ignore unknown expectations. Node would answer them itself, without our headers.
  server.on('checkExpectation', inTurn(answer));
  server.on('connect', (_request: http.IncomingMessage, socket: Duplex) => {
    // Node has released the socket: nothing else notices if its client disconnects.
    socket.on('error', () => socket.destroy());
    refuse(app, Object.assign(new Error('This is no proxy'), noProxy), socket);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => refuse(app, error, socket));
  return serve(server, host, port);
}

function refuseRequest(app: App, response: http.ServerResponse): void {
  writeWhole(response, app.refuse(new Error('The request can be read in two ways')));
}

function refuse(app: App, error: NodeJS.ErrnoException, socket: Duplex): void {
  refuseConnection(error, socket, (cause) => app.refuse(cause));
}

/** @throws the system's error if the port is taken (`code` EADDRINUSE) or the address is not this machine's */
export async function requireFreePort(host: string, port: number): Promise<void> {
  const listening = await serve(http.createServer(), host, port);
  await listening.close(0);
}
