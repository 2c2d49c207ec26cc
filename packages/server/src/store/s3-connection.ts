import { hash } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import { createRequestSigner, emptyPayloadHash, uriEncode, uriEncodePath } from '@cadiz/sigv4';
import type { Attributes } from '@opentelemetry/api';
import { Problem } from '../problem.ts';
import type { StoreRequest } from '../telemetry/observed.ts';
import type { Trace } from '../telemetry/trace.ts';
import { refuseUpgrade } from './refuse-upgrade.ts';
import { toS3Operation } from './s3-operation.ts';
import type { S3Settings } from './s3-settings.ts';

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** The key of an object; without one, the request is for the bucket itself. */
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  /** Not part of what is signed: a proxy in between may change it. */
  traceparent?: string;
  body?: string;
  /** Bytes that are sent instead of `body`; opened anew if the request has to be repeated. */
  stream?: S3Stream;
  /** This many bytes of a successful answer are enough; it is not read any further. */
  enoughBytes?: number;
  /** The store may take its time: it may stay silent for longer, and no other request waits for this connection. */
  isLong?: boolean;
  signal?: AbortSignal | undefined;
}

export interface S3Stream {
  open(): Readable;
  sizeBytes: number;
  /** in hex; it is signed, so a store accepts no other bytes */
  sha256: string;
}

export interface S3Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  bytes: Buffer;
  /** The bytes as UTF-8. */
  readonly text: string;
}

/** Sends requests to one bucket, path style, signed by our own signer (decision 0009). */
export interface S3Connection {
  /**
   * The answer with its body, whatever its status: the whole body, or its first `enoughBytes`. Throws `store_unavailable`
   * if none arrives.
   */
  send(request: S3Request): Promise<S3Answer>;
  /** `send`, which also throws `store_unavailable` if the store reports a fault of its own (5xx). */
  call(request: S3Request): Promise<S3Answer>;
  /**
   * The answer as soon as its head has arrived, on a connection that `send` does not wait for. Its body must be
   * consumed.
   */
  open(request: S3Request): Promise<http.IncomingMessage>;
  /** The whole body of an `open` answer. Throws `store_unavailable` if it breaks off. */
  readText(response: http.IncomingMessage): Promise<string>;
  /** The same connection, whose requests belong to a trace. */
  within(trace: Trace): S3Connection;
  close(): void;
}

/**
 * How long the store may say nothing. Somebody waits for what it knows of one object, and can ask again. Until an answer begins, the time
 * that a request waits for a connection counts: they are all taken when the store has stopped answering.
 */
const silenceMilliseconds = { object: 4_000, other: 10_000, long: 120_000 };

/** A page of 1000 keys of 1024 bytes is 3 MiB if each byte is percent-encoded. */
const maxAnswerBytes = 4 * 1024 ** 2;

/** @param observe called with every request that ended, or whose answer began */
export function createS3Connection(
  settings: S3Settings,
  now: () => number,
  observe?: (request: StoreRequest) => void,
): S3Connection {
  const base = new URL(settings.endpoint);
  const basePath = base.pathname.replace(/\/$/, '');
  const client = base.protocol === 'https:' ? https : http;
  const calls = new client.Agent({ keepAlive: true, maxSockets: 64 });
  // Downloads last as long as their readers take, and completions as long as the store takes: record must never queue
  // behind them.
  const streams = new client.Agent({ keepAlive: true });
  const sign = createRequestSigner(settings);

  function exchange(agent: http.Agent, request: S3Request): Promise<http.IncomingMessage> {
    const { method, key, query, body = '', stream, isLong = false, signal } = request;
    const isOfObject = key !== undefined && method !== 'PUT' && method !== 'POST';
    const timeoutMilliseconds = silenceMilliseconds[isLong ? 'long' : isOfObject ? 'object' : 'other'];
    const path = `${basePath}/${settings.bucket}${key === undefined ? '' : `/${key}`}`;
    const payloadHash = stream?.sha256 ?? (body === '' ? emptyPayloadHash : hash('sha256', body, 'hex'));
    const headers = sign({
      method,
      host: base.host,
      path,
      payloadHash,
      now: now(),
      ...(query && { query }),
      ...(request.headers && { headers: request.headers }),
    });
    // Sent even if it is 0: some stores answer a POST without a length with 411.
    if (body !== '' || method === 'POST') headers['content-length'] = `${Buffer.byteLength(body)}`;
    if (stream) headers['content-length'] = `${stream.sizeBytes}`;
    if (request.traceparent !== undefined) headers.traceparent = request.traceparent;
    const started = performance.now();
    const observed = (outcome: StoreRequest['outcome']) =>
      observe?.({ operation: toS3Operation(request), outcome, seconds: (performance.now() - started) / 1000 });
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
      // While bytes are being sent, only the connection knows whether anything moves.
      const deadline = stream ? undefined : setTimeout(giveUp, timeoutMilliseconds);
      sent.on('response', (answer) => {
        response = answer;
        clearTimeout(deadline);
        observed(toOutcome(answer.statusCode));
        resolve(answer);
      });
      sent.on('timeout', () => {
        // If bytes are waiting here, the reader is slow; only a store that sends none has stalled.
        if (response && response.readableLength > 0) sent.setTimeout(timeoutMilliseconds);
        else sent.destroy(silence());
      });
      sent.on('error', fail);
      refuseUpgrade(sent, fail);
      if (!stream) return void sent.end(body);
      const bytes = stream.open();
      bytes.on('error', (error) => sent.destroy(error));
      sent.on('close', () => bytes.destroy());
      bytes.pipe(sent);

      function fail(error: NodeJS.ErrnoException) {
        clearTimeout(deadline);
        // The store may close a kept-alive connection just as it is reused; that is not a failure of the store.
        if (sent.reusedSocket && error.code === 'ECONNRESET' && !response)
          return void exchange(agent, request).then(resolve, reject);
        // The caller may have given up, which is no failure of the store.
        if (!response && !signal?.aborted) observed('unanswered');
        reject(error);
      }

      // A request that is destroyed before it has a connection says so only once it gets one.
      function giveUp() {
        fail(silence());
        sent.off('error', fail).on('error', () => undefined);
        sent.destroy();
      }

      function silence() {
        return new Error(`no answer within ${timeoutMilliseconds / 1000} s`);
      }
    });
  }

  function toFailure(cause: unknown, signal?: AbortSignal): unknown {
    if (signal?.aborted) return signal.reason;
    return unavailable(`The object store at ${settings.endpoint} does not answer.`, cause);
  }

  async function send(request: S3Request): Promise<S3Answer> {
    try {
      const response = await exchange(request.isLong ? streams : calls, request);
      const { headers, statusCode: status = 0 } = response;
      const bytes = await readBytes(response, status < 300 ? request.enoughBytes : undefined);
      return {
        status,
        headers,
        bytes,
        get text() {
          return bytes.toString();
        },
      };
    } catch (error) {
      throw toFailure(error, request.signal);
    }
  }

  const open: S3Connection['open'] = (request) =>
    exchange(streams, request).catch((error: unknown) => {
      throw toFailure(error, request.signal);
    });

  const connection: S3Connection = {
    send,
    call: (request) => callBy(send, request),
    open,
    within: (trace) => {
      const sendWithin: S3Connection['send'] = (request) =>
        trace.run(`store ${request.method}`, toAttributes(request), 'client', async (part) => {
          const answer = await send({ ...request, traceparent: part.traceparent() });
          part.set({ 'http.response.status_code': answer.status });
          return answer;
        });
      return {
        ...connection,
        send: sendWithin,
        call: (request) => callBy(sendWithin, request),
        open: (request) =>
          trace.run(`store ${request.method}`, toAttributes(request), 'client', async (part) => {
            const answer = await open({ ...request, traceparent: part.traceparent() });
            part.set({ 'http.response.status_code': answer.statusCode ?? 0 });
            return answer;
          }),
      };
    },
    readText: (response) =>
      readBytes(response).then(String, (error: unknown) => {
        throw toFailure(error);
      }),
    close() {
      calls.destroy();
      streams.destroy();
    },
  };
  return connection;

  /** Without the key, which has the name of a file. */
  function toAttributes({ method, query, isLong }: S3Request): Attributes {
    return {
      'http.request.method': method,
      'server.address': base.hostname,
      'aws.s3.bucket': settings.bucket,
      'cadiz.store.parameters': Object.keys(query ?? {}),
      ...(isLong && { 'cadiz.store.long': true }),
    };
  }
}

/** What the embedded store and others answer when their disk is full. */
const insufficientStorage = 507;

async function callBy(send: S3Connection['send'], request: S3Request): Promise<S3Answer> {
  const answer = await send(request);
  if (answer.status === insufficientStorage) throw unavailable('The object store answered 507: its disk is full.');
  if (answer.status >= 500) throw unavailable(`The object store answered ${answer.status}.`);
  return answer;
}

function toSearch(query: Record<string, string> | undefined): string {
  if (!query) return '';
  const pairs = Object.entries(query).map(([name, value]) => `${uriEncode(name)}=${uriEncode(value)}`);
  return `?${pairs.join('&')}`;
}

/** The body up to the longest answer that a store may give, or its first `enoughBytes`. */
function readBytes(response: http.IncomingMessage, enoughBytes = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const finish = () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxAnswerBytes) chunks.push(chunk);
      else response.destroy(new Error(`the answer is longer than ${maxAnswerBytes} bytes`));
      if (bytes > enoughBytes) {
        finish();
        response.destroy();
      }
    });
    response.on('end', finish);
    response.on('error', reject);
  });
}

/** 404 and 412 say what was asked: that there is no such object, or another. */
function toOutcome(status = 0): StoreRequest['outcome'] {
  if (status >= 500) return 'failed';
  return status >= 400 && status !== 404 && status !== 412 ? 'refused' : 'answered';
}

/** The problem of an object store that does not answer, or not as S3 does: clients try again in five seconds. */
export function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem('store_unavailable', detail, { headers: { 'Retry-After': '5' }, cause });
}
