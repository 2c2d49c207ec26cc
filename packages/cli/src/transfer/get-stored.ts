import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { ReadableStream } from 'node:stream/web';

const redirecting = [301, 302, 303, 307, 308];

/** As long as `fetch` waits. */
const idleMilliseconds = 300_000;

/**
 * Gets an object as it is stored: `fetch` would decode one that has a Content-Encoding, although its size and checksum are
 * those of what is stored. Fails and follows redirects as `fetch` does; with credentials in the headers, none.
 */
export async function getStored(
  url: string,
  headers: Record<string, string>,
  signal?: AbortSignal,
  redirects = 20,
): Promise<Response> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const client = url.startsWith('https:') ? https : http;
    const request = client.get(url, { headers, timeout: idleMilliseconds, ...(signal && { signal }) }, resolve);
    request.on('timeout', () => request.destroy(new Error('No data has arrived for five minutes.')));
    request.on('error', (cause) => reject(new TypeError('fetch failed', { cause })));
  });
  const { statusCode: status = 0 } = answer;
  const { location = '' } = answer.headers;
  if (redirecting.includes(status) && URL.canParse(location, url) && redirects > 0 && !('authorization' in headers)) {
    answer.resume();
    return getStored(new URL(location, url).href, headers, signal, redirects - 1);
  }
  const pairs = Object.entries(answer.headersDistinct).map(([name, values = []]) => [name, values.join(', ')]);
  return new Response(toBody(answer) as ConstructorParameters<typeof Response>[0], {
    status,
    headers: pairs as [string, string][],
  });
}

/** The bytes as they come; cancelled, it closes the connection, which would keep the program from ending otherwise. */
function toBody(answer: IncomingMessage): ReadableStream<Uint8Array> {
  const pieces: AsyncIterator<Uint8Array> = answer[Symbol.asyncIterator]();
  return new ReadableStream(
    {
      async pull(controller) {
        const piece = await pieces.next().catch((cause) => {
          // Without the code of the connection, which could be one of the disk.
          throw new TypeError('terminated', { cause });
        });
        if (piece.done) controller.close();
        else controller.enqueue(piece.value);
      },
      cancel: () => void answer.destroy(),
    },
    { highWaterMark: 0 },
  );
}
