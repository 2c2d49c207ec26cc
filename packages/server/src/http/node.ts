import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import type { OperationId } from '@cadiz/contract';
import type { Logger } from 'pino';
import { Problem } from '../problem.ts';
import type { OpenTrace } from '../telemetry/trace.ts';
import type { Answer, Exchange, Query, WholeAnswer } from './exchange.ts';
import { toQuery } from './fetch.ts';
import { tooLarge } from './input.ts';
import { stalledMilliseconds } from './stream-bytes.ts';

/** A request of Node's server. It parses only what its handler asks for. */
export class NodeExchange implements Exchange {
  requestId = '';
  readonly method: string;
  readonly path: string;
  params: Record<string, string> = {};
  operation: OperationId | undefined;
  trace: OpenTrace | undefined;
  keyId: string | undefined;
  keyProjectId: string | undefined;
  input: unknown;
  refreshCaller: (() => Promise<void>) | undefined;
  readonly extraHeaders: string[] = [];
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #search: string;

  constructor(request: IncomingMessage, response: ServerResponse) {
    const target = request.url ?? '/';
    const mark = target.indexOf('?');
    this.method = request.method ?? 'GET';
    this.path = mark === -1 ? target : target.slice(0, mark);
    this.#search = mark === -1 ? '' : target.slice(mark + 1);
    // Only of Set-Cookie, which is no header of requests, would Node give a list.
    this.headers = request.headers as Record<string, string | undefined>;
    this.#request = request;
    this.#response = response;
  }

  query(): Query {
    return toQuery(this.#search);
  }

  remoteAddress(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  readBytes(maxBytes: number): Promise<Buffer> {
    return readBytes(this.#request, maxBytes);
  }

  onClose(listener: () => void): void {
    if (this.#response.closed) listener();
    else this.#response.once('close', listener);
  }

  onSent(listener: () => void): void {
    this.onClose(listener);
  }
}

/** Sends an answer. A stream is sent as fast as the client accepts it. */
export function writeTo(response: ServerResponse, answer: Answer, log: Logger): Promise<void> | undefined {
  if (answer instanceof Response) return streamTo(response, answer, log);
  writeWhole(response, answer);
  return undefined;
}

/** What is shorter, the system takes at once, whether the client reads it or not. */
const longBytes = 64 * 1024;

/**
 * Sends an answer that is complete. A client that takes nothing of a long one is cut off, as of a stream: otherwise it would
 * hold the memory of the answer for as long as it likes.
 */
export function writeWhole(
  response: ServerResponse,
  { status, headers, body }: WholeAnswer,
  stallMilliseconds = stalledMilliseconds,
): void {
  const length = Buffer.byteLength(body);
  // Node destroys the connection after a period in which nothing was taken, and sets its own limit once all is sent.
  if (length > longBytes) response.setTimeout(stallMilliseconds);
  headers.push('Content-Length', String(length));
  response.writeHead(status, headers);
  // A body with as many bytes as characters is ASCII. As Latin-1, Node writes the same bytes several times as fast.
  response.end(body, length === body.length ? 'latin1' : 'utf8');
}

async function streamTo(response: ServerResponse, answer: Response, log: Logger): Promise<void> {
  const cookies = answer.headers.getSetCookie();
  response.writeHead(answer.status, {
    ...Object.fromEntries(answer.headers),
    ...(cookies.length > 0 ? { 'set-cookie': cookies } : {}),
  });
  if (!answer.body || response.req.method === 'HEAD') {
    await answer.body?.cancel();
    response.end();
    return;
  }
  try {
    await pipeline(Readable.fromWeb(answer.body as ReadableStream), response);
  } catch (error) {
    // The connection is already closed: the client sees that the answer was cut short, or has disconnected itself.
    log.debug({ error }, 'An answer broke off');
  }
}

function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const brokeOff = () => reject(new Problem('invalid_request', 'The body broke off.'));
    if (request.destroyed) return brokeOff();
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      else reject(tooLarge(maxBytes));
    });
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on('error', brokeOff);
  });
}
