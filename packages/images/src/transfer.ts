import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { pipeline } from 'node:stream/promises';
import { ImageFailed } from './errors.ts';
import { headBytes, videoHeadBytes, videoTailBytes } from './limits.ts';
import type { Source, Target } from './types.ts';

/** Of the first bytes of an image: 64 KiB, or all. */
export async function fetchHead(source: Source): Promise<Buffer> {
  const last = Math.min(headBytes, source.size) - 1;
  const response = await get(source, `bytes=0-${last}`);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response) {
      length += chunk.length;
      if (length > last + 1) throw sourceChanged();
      chunks.push(chunk);
    }
  } catch (error) {
    throw unreachable('source', error);
  }
  if (length !== last + 1) throw sourceChanged();
  return Buffer.concat(chunks);
}

/** Writes a whole image into a file of its own, and what is already known of it is not asked for again. */
export async function fetchWhole(source: Source, head: Buffer, file: string): Promise<void> {
  const out = createWriteStream(file, { flags: 'wx', mode: 0o600 });
  let length = head.length;
  async function* bytes() {
    yield head;
    if (length === source.size) return;
    for await (const chunk of await get(source, `bytes=${length}-${source.size - 1}`)) {
      length += chunk.length;
      if (length > source.size) throw sourceChanged();
      yield chunk;
    }
  }
  try {
    await pipeline(bytes, out);
  } catch (error) {
    toFailure(error);
  }
  if (length !== source.size) throw sourceChanged();
}

function toFailure(error: unknown): never {
  if (isNoSpace(error))
    throw new ImageFailed('busy', 'There is no room for the image in the folder for temporary files.');
  throw unreachable('source', error);
}

/** Writes the ends of a file, with a hole between them, as long as the whole. */
export async function fetchEnds(source: Source, head: Buffer, file: string): Promise<void> {
  const { size } = source;
  if (size <= videoHeadBytes + videoTailBytes) return fetchWhole(source, head, file);
  const ends: [number, number][] = [
    [0, videoHeadBytes],
    [size - videoTailBytes, size],
  ];
  for (const [from, to] of ends) {
    const out = createWriteStream(file, { flags: from === 0 ? 'wx' : 'r+', mode: 0o600, start: from });
    let length = 0;
    async function* bytes() {
      for await (const chunk of await get(source, `bytes=${from}-${to - 1}`)) {
        length += chunk.length;
        if (length > to - from) throw sourceChanged();
        yield chunk;
      }
    }
    await pipeline(bytes, out).catch(toFailure);
    if (length !== to - from) throw sourceChanged();
  }
}

/**
 * Puts a variant with one request, which is not repeated.
 *
 * @returns its ETag without quotes; null if the store names none
 */
export async function put(target: Target, bytes: Buffer, contentType: string): Promise<string | null> {
  const request = start(target, 'PUT', {
    'content-type': contentType,
    ...target.headers,
    'content-length': bytes.length,
  });
  request.end(bytes);
  const response = await answerTo(request, 'target');
  const { statusCode = 0, headers } = response;
  try {
    for await (const _ of response);
  } catch (error) {
    throw unreachable('target', error);
  }
  if (statusCode < 200 || statusCode > 299) throw new ImageFailed('unreachable', `The target answered ${statusCode}.`);
  return headers.etag?.replace(/^W\//, '').replaceAll('"', '') ?? null;
}

async function get(source: Source, range: string): Promise<http.IncomingMessage> {
  const request = start(source, 'GET', { ...source.headers, range });
  request.end();
  const response = await answerTo(request, 'source');
  const isWhole = response.statusCode === 200 && response.headers['content-length'] === String(source.size);
  // Whoever sends all of it without a range may do so only where all of it was asked for.
  if (response.statusCode === 206 || (isWhole && range === `bytes=0-${source.size - 1}`)) return response;
  response.destroy();
  throw new ImageFailed('unreachable', `The source answered ${response.statusCode} to a request for a range.`);
}

function start({ url }: { url: string }, method: string, headers: http.OutgoingHttpHeaders): http.ClientRequest {
  const { request } = url.startsWith('https:') ? https : http;
  // Nothing is repeated, and a store closes idle connections: on a busy machine, one that is used again may just have been closed.
  return request(url, { method, headers, agent: false });
}

async function answerTo(request: http.ClientRequest, what: 'source' | 'target'): Promise<http.IncomingMessage> {
  try {
    // A connection may break before or after an answer has begun, and a 101 closes it without any other event.
    const [response]: http.IncomingMessage[] = await Promise.race([once(request, 'response'), once(request, 'close')]);
    if (!response) throw new Error('no answer');
    return response;
  } catch (error) {
    throw unreachable(what, error);
  }
}

const sourceChanged = () => new ImageFailed('unreachable', 'The source does not have the size that was said.');

function unreachable(what: 'source' | 'target', error: unknown): ImageFailed {
  if (error instanceof ImageFailed) return error;
  // URLs are signed: messages must not name them. Node's name hosts and ports only.
  return new ImageFailed(
    'unreachable',
    `The ${what} cannot be reached: ${error instanceof Error ? error.message : error}`,
  );
}

const isNoSpace = (error: unknown) =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
