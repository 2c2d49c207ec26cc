import { hash } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { createRequestSigner, emptyPayloadHash, uriEncode, uriEncodePath } from '@cadiz/sigv4';
import { Problem } from '../problem.ts';
import type { S3Settings } from './s3-settings.ts';

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** The key of an object; the bucket itself when it is left out. */
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string;
  /** The store may take its time: it may be silent for longer, and nobody waits for this connection. */
  isLong?: boolean;
  signal?: AbortSignal | undefined;
}

export interface S3Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

/** Requests to one bucket, path style, signed by our own signer (decision 0009). */
export interface S3Connection {
  /** The answer with its whole body, whatever its status. Throws `store_unavailable` when none comes. */
  send(request: S3Request): Promise<S3Answer>;
  /** `send`, which also throws `store_unavailable` when the store says that the fault is its own (5xx). */
  call(request: S3Request): Promise<S3Answer>;
  /** The answer as soon as its head is there, on a connection that `send` does not wait for. Its body must be consumed. */
  open(request: S3Request): Promise<http.IncomingMessage>;
  /** The whole body of what `open` answered. Throws `store_unavailable` when it breaks off. */
  readText(response: http.IncomingMessage): Promise<string>;
  close(): void;
}

const silenceMilliseconds = 10_000;
const longSilenceMilliseconds = 120_000;

/** A page of 1000 keys of 1024 bytes is 3 MiB when each byte is percent-encoded. */
const maxAnswerBytes = 4 * 1024 ** 2;

export function createS3Connection(settings: S3Settings, now: () => number): S3Connection {
  const base = new URL(settings.endpoint);
  const basePath = base.pathname.replace(/\/$/, '');
  const client = base.protocol === 'https:' ? https : http;
  const calls = new client.Agent({ keepAlive: true, maxSockets: 64 });
  // Downloads last as long as their readers like, and completions as the store does: record must never queue behind them.
  const streams = new client.Agent({ keepAlive: true });
  const sign = createRequestSigner(settings);

  function exchange(agent: http.Agent, request: S3Request): Promise<http.IncomingMessage> {
    const { method, key, query, body = '', isLong = false, signal } = request;
    const timeoutMilliseconds = isLong ? longSilenceMilliseconds : silenceMilliseconds;
    const path = `${basePath}/${settings.bucket}${key === undefined ? '' : `/${key}`}`;
    const payloadHash = body === '' ? emptyPayloadHash : hash('sha256', body, 'hex');
    const headers = sign({
      method,
      host: base.host,
      path,
      payloadHash,
      now: now(),
      ...(query && { query }),
      ...(request.headers && { headers: request.headers }),
    });
    // Sized also when it is empty: a POST without a length is a 411 on some stores.
    if (body !== '' || method === 'POST') headers['content-length'] = `${Buffer.byteLength(body)}`;
    return new Promise((resolve, reject) => {
      let response: http.IncomingMessage | undefined;
      const sent = client.request({
        agent,
        method,
        hostname: base.hostname.replace(/^\[|\]$/g, ''),
        port: base.port,
        path: uriEncodePath(path) + toSearch(query),
        headers,
        timeout: timeoutMilliseconds,
        ...(signal && { signal }),
      });
      sent.on('response', (answer) => {
        response = answer;
        resolve(answer);
      });
      sent.on('timeout', () => {
        // It is the reader who is slow when bytes lie here: only a store that brings none has stalled.
        if (response && response.readableLength > 0) sent.setTimeout(timeoutMilliseconds);
        else sent.destroy(new Error(`no answer within ${timeoutMilliseconds / 1000} s`));
      });
      sent.on('error', (error: NodeJS.ErrnoException) => {
        // A kept-alive connection may be closed by the store just as it is used again: that is no failure of the store.
        if (sent.reusedSocket && error.code === 'ECONNRESET' && !response)
          exchange(agent, request).then(resolve, reject);
        else reject(error);
      });
      sent.end(body);
    });
  }

  function doesNotAnswer(cause: unknown, signal?: AbortSignal): unknown {
    if (signal?.aborted) return signal.reason;
    return unavailable(`The object store at ${settings.endpoint} does not answer.`, cause);
  }

  async function send(request: S3Request): Promise<S3Answer> {
    try {
      const response = await exchange(request.isLong ? streams : calls, request);
      const text = await readText(response);
      return { status: response.statusCode ?? 0, headers: response.headers, text };
    } catch (error) {
      throw doesNotAnswer(error, request.signal);
    }
  }

  return {
    send,
    async call(request) {
      const answer = await send(request);
      if (answer.status >= 500) throw unavailable(`The object store answered ${answer.status}.`);
      return answer;
    },
    open: (request) =>
      exchange(streams, request).catch((error: unknown) => {
        throw doesNotAnswer(error, request.signal);
      }),
    readText: (response) =>
      readText(response).catch((error: unknown) => {
        throw doesNotAnswer(error);
      }),
    close() {
      calls.destroy();
      streams.destroy();
    },
  };
}

function toSearch(query: Record<string, string> | undefined): string {
  if (!query) return '';
  const pairs = Object.entries(query).map(([name, value]) => `${uriEncode(name)}=${uriEncode(value)}`);
  return `?${pairs.join('&')}`;
}

/** The whole body, of a length that a store's answer may have. */
function readText(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxAnswerBytes) chunks.push(chunk);
      else response.destroy(new Error(`the answer has more than ${maxAnswerBytes} bytes`));
    });
    response.on('end', () => resolve(Buffer.concat(chunks).toString()));
    response.on('error', reject);
  });
}

export function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem('store_unavailable', detail, { headers: { 'Retry-After': '5' }, cause });
}
