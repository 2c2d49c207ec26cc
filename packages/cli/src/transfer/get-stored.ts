import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { ReadableStream } from 'node:stream/web';

/** As long as `fetch` waits. */
const idleMilliseconds = 300_000;

/**
 * Gets an object as it is stored: `fetch` would decode one that has a Content-Encoding, although its size and checksum are
 * those of what is stored. Fails as `fetch` does, and follows no redirect.
 */
export async function getStored(url: string, headers: Record<string, string>, signal?: AbortSignal): Promise<Response> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const client = url.startsWith('https:') ? https : http;
    const request = client.get(url, { headers, timeout: idleMilliseconds, ...(signal && { signal }) }, resolve);
    request.on('timeout', () => request.destroy(new Error('Nothing has come for five minutes.')));
    request.on('error', (cause) => reject(new TypeError('fetch failed', { cause })));
  });
  const pairs = Object.entries(answer.headersDistinct).map(([name, values = []]) => [name, values.join(', ')]);
  return new Response(ReadableStream.from(piecesOf(answer)) as ConstructorParameters<typeof Response>[0], {
    status: answer.statusCode ?? 0,
    headers: pairs as [string, string][],
  });
}

async function* piecesOf(answer: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    yield* answer;
  } catch (cause) {
    // Without the code of the connection, which could be one of the disk.
    throw new TypeError('terminated', { cause });
  }
}
