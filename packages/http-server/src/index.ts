import { once } from 'node:events';
import http from 'node:http';
import net, { type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export { isAmbiguous } from './ambiguous.ts';

/** Node closes hardly any slow connection by itself: these are the limits for clients that are slow on purpose. */
const slowestClient = {
  headersTimeout: 8_000,
  connectionsCheckingInterval: 2_000,
  keepAliveTimeout: 65_000,
} as const;

export const maxHeaderBytes = 16 * 1024;

/** How often connections that became idle are looked for while a server closes. */
const closeIdleMilliseconds = 20;

/** How long a connection may have sent nothing at all while a server closes: what it was opened for may be on its way. */
const silentMilliseconds = 1_000;

/**
 * A server that is not listening yet, with limits for the head of a request and for idle connections. How long a whole
 * request may take (`requestTimeout`) is for each server to say: Node's own limit is 5 minutes.
 *
 * @param options - Node's; they replace the limits above
 */
export function createBoundedServer(options: http.ServerOptions): http.Server {
  const server = http.createServer({ ...slowestClient, maxHeaderSize: maxHeaderBytes, ...options });
  // `maxHeaderSize` is limit enough. Node would also leave all headers after the thousandth out of `headers`, but not out of
  // `rawHeaders`: what is checked in one would not be what is obeyed in the other.
  server.maxHeadersCount = 0;
  return server;
}

/** How many requests of one connection may wait for their turn. No client needs that many, and each takes memory. */
const mostInTurn = 100;

/** The answers that a connection still waits for, in the order of its requests. */
const pendingOf = new WeakMap<Duplex, http.ServerResponse[]>();

/**
 * Handles the requests of a connection one after the other, although a client may send several without waiting for answers
 * (RFC 9112, 9.3.2). Node hands over all of them at once, and if their connection closes, it does not tell the answers that are not
 * yet being sent: what they hold would be held for ever.
 *
 * @returns a listener for the requests of a server, such as `request` and `checkContinue`
 */
export function inTurn(handle: http.RequestListener): http.RequestListener {
  return (request, response) => {
    const { socket } = request;
    const pending = pendingOf.get(socket) ?? [];
    if (pending.length > mostInTurn) {
      socket.destroy();
      return;
    }
    if (pending.push(response) === 1) pendingOf.set(socket, pending);
    response.on('close', () => pending.shift());
    if (response.socket) {
      handle(request, response);
      return;
    }
    const assignSocket = response.assignSocket.bind(response);
    // Node calls it when the answer before this one has been sent.
    response.assignSocket = (own) => {
      assignSocket(own);
      handle(request, response);
    };
  };
}

/**
 * Handles the requests that arrive in one turn of the event loop together, right after it: each step is done for all of them
 * before the next one, while its code and data are in the processor's caches (decision 0101).
 *
 * @returns a listener for the requests of a server, to be given to `inTurn`
 */
export function together(handle: http.RequestListener): http.RequestListener {
  let arrived: Parameters<http.RequestListener>[] = [];
  const handleAll = () => {
    const all = arrived;
    arrived = [];
    for (const [request, response] of all) handle(request, response);
  };
  return (...one) => {
    if (arrived.push(one) === 1) setImmediate(handleAll);
  };
}

/** The path and query of a request-target: a proxy may send a whole URL, in which `/` may be missing (RFC 9112 §3.2.2). */
export function toLocal(target = '/'): string {
  return target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*\/?/i, '/');
}

/** An answer to bytes that are no request. */
export interface Refusal {
  status: number;
  /** Names and values alternately, without Content-Length. */
  headers: readonly string[];
  body: string | Buffer;
}

/** Connections that are refused once the requests before have been answered. */
const refused = new WeakSet<Duplex>();

/**
 * Answers a `clientError` of Node's server, or another connection that has no request, and closes it. Without a request there
 * is no response object either, so the answer is written by hand: after those to the requests before (`inTurn`), and not at all
 * if the request that is at fault is being answered.
 *
 * @param refuse - what to answer; not called when nobody would read it
 */
export function refuseConnection(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  refuse: (error: NodeJS.ErrnoException) => Refusal,
): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  // Node reports the error again with whatever else arrives.
  if (refused.has(socket)) return;
  refused.add(socket);
  const pending = pendingOf.get(socket) ?? [];
  const last = pending.at(-1);
  const atFault = last?.req.complete === false ? last : undefined;
  const before = atFault ? pending.at(-2) : last;
  const end = () => {
    // The answer before may have been the last that its client wanted.
    if (!socket.writable) return;
    if (atFault?.headersSent) closeAnswered(socket, atFault);
    else writeRefusal(socket, refuse(error));
  };
  if (before) before.once('close', end);
  else end();
}

function closeAnswered(socket: Duplex, { writableEnded }: http.ServerResponse): void {
  if (writableEnded) socket.end(() => socket.destroy());
  else socket.destroy();
}

function writeRefusal(socket: Duplex, { status, headers, body }: Refusal): void {
  const all = [...headers, 'Content-Length', String(Buffer.byteLength(body))];
  const lines = all.map((part, index) => (index % 2 === 0 ? `${part}: ` : `${part}\r\n`)).join('');
  // Ending it is not enough: a client that is slow on purpose would keep its own half open.
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}\r\n${lines}\r\n${body}`, () => socket.destroy());
}

export interface Listening {
  port: number;
  /** Accepts no more connections, lets requests under way finish for this long, then closes what is left. */
  close(drainMilliseconds: number): Promise<void>;
}

/**
 * Starts a server.
 *
 * @param port - 0 for any free one
 * @throws the system's error if the port is taken (`code` EADDRINUSE) or the address is not this machine's
 */
export async function serve(server: http.Server, host: string, port: number): Promise<Listening> {
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  // Node counts a new connection as one with a request, until its headers are overdue. Browsers open some to have them ready.
  const closeSilent = () => {
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
  };
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    async close(drainMilliseconds) {
      const closed = once(server, 'close');
      // Not `http.Server.close`: it also closes idle connections, and to Node 26 those are idle that have sent nothing yet.
      net.Server.prototype.close.call(server);
      // A kept-alive connection becomes idle when its last answer has left, and would hold up the close from then on.
      const sweep = setInterval(() => {
        if ([...connections].every(({ bytesRead }) => bytesRead > 0)) server.closeIdleConnections();
      }, closeIdleMilliseconds);
      const silent = setTimeout(closeSilent, silentMilliseconds);
      const cut = setTimeout(() => server.closeAllConnections(), drainMilliseconds);
      await closed;
      clearInterval(sweep);
      clearTimeout(silent);
      clearTimeout(cut);
      // Ends what Node does every few seconds as long as a server listens.
      server.close();
    },
  };
}
