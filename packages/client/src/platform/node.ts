import { createHash } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { pipeline } from 'node:stream/promises';
import { CadizError } from '../error.ts';
import type { Source } from '../upload/source.ts';
import {
  type Chunk,
  idleMilliseconds,
  type PutAnswer,
  type PutRequest,
  type ResumeStore,
  type StreamChunk,
} from './platform.ts';

export const usualConcurrency = 8;
/** Node does not know. */
export const isOffline = (): boolean => false;
/** A program says itself where to remember uploads: `resumeFile` of `@cadiz/client/node`. */
export const openResumeStore = (): ResumeStore | undefined => undefined;

/** Up to this size, a body is read before it is sent: that takes less time than to stream it. */
const smallBytes = 256 * 1024;

/** A Blob as it is: slicing it would be a tenth of the work for a small file. */
export const toBody = (source: Pick<Source, 'slice'>): Chunk => (source instanceof Blob ? source : source.slice());

/** Through `node:http`: `fetch` would hold much of a large body in memory. Its global agent knows the proxy of the environment. */
export async function put({ url, body, onProgress, signal }: PutRequest): Promise<PutAnswer> {
  const small = body.size <= smallBytes ? await readAll(body) : undefined;
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const request = (url.startsWith('https:') ? https : http).request(url, {
      method: 'PUT',
      headers: { 'content-length': body.size },
      timeout: idleMilliseconds,
    });
    // The option `signal` would take longer than all else here.
    const abort = () => request.destroy(new Error('It was aborted.', { cause: signal.reason }));
    signal.addEventListener('abort', abort);
    let isAnswered = false;
    const fail = (error: unknown) => {
      // An answer that came before the end of the body says more than the broken connection after it.
      if (!isAnswered) reject(error);
    };
    request.on('timeout', () => {
      request.destroy(new CadizError('timed_out', 'Nothing was sent for a minute.', { retryable: true }));
    });
    request.on('error', fail);
    // Node says nothing else if a 101 switches protocols.
    request.on('close', () => {
      signal.removeEventListener('abort', abort);
      fail(new Error('The connection was closed without an answer.'));
    });
    request.on('response', (response) => {
      isAnswered = true;
      let text = '';
      response.setEncoding('utf8').on('data', (piece) => {
        text += piece;
      });
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response;
        resolve({ status, text, retryAfter: headers['retry-after'] });
        if (!request.writableFinished) request.destroy();
      });
    });
    if (small) request.end(small, () => onProgress(small.length));
    else pipeline(counted(toStream(body), onProgress), request).catch(fail);
  });
}

async function* counted(
  body: ReturnType<typeof toStream>,
  onProgress: (sent: number) => void,
): AsyncGenerator<Uint8Array> {
  let sent = 0;
  for await (const bytes of body) {
    yield bytes;
    sent += bytes.length;
    onProgress(sent);
  }
}

async function readAll(body: object): Promise<Uint8Array> {
  if (!isStream(body)) return new Uint8Array(await (body as Blob).arrayBuffer());
  const pieces: Uint8Array[] = [];
  for await (const bytes of body.read()) pieces.push(bytes);
  return Buffer.concat(pieces);
}

function toStream(body: object): AsyncIterable<Uint8Array> | Iterable<Promise<Uint8Array>> {
  if (isStream(body)) return body.read();
  // That of jsdom has no stream.
  return 'stream' in body ? ((body as Blob).stream() as AsyncIterable<Uint8Array>) : [readAll(body)];
}

const isStream = (chunk: object): chunk is StreamChunk => 'read' in chunk;

/** @throws why the signal was aborted, or why the file cannot be read */
export async function toSha256(source: Source, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of toStream(source.slice())) {
    signal?.throwIfAborted();
    hash.update(bytes);
  }
  return hash.digest('hex');
}
