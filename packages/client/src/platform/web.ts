import type { Source } from '../upload/source.ts';
import { openIndexedDb } from './indexed-db.ts';
import { type Chunk, idleMilliseconds, type PutAnswer, type PutRequest, type ResumeStore } from './platform.ts';

/** Browsers open six connections to a host; the page needs some itself. */
export const usualConcurrency = 4;

/** Only if the browser is sure of it: otherwise the service may still be out of reach. */
export const isOffline = (): boolean => globalThis.navigator?.onLine === false;

/** Remembers uploads in IndexedDB; undefined if the browser has none, or does not allow it. */
export function openResumeStore(): ResumeStore | undefined {
  try {
    return globalThis.indexedDB && openIndexedDb();
  } catch {
    // Told to keep nothing, Firefox throws already when it is looked at.
    return undefined;
  }
}

/** Without its type, which browsers would send as a header that was not signed. */
export const toBody = (source: Pick<Source, 'slice'>): Chunk => source.slice();

/** XMLHttpRequest where there is one: fetch does not tell how much it has sent. */
export const put = (request: PutRequest): Promise<PutAnswer> =>
  globalThis.XMLHttpRequest ? putByXhr(request) : putByFetch(request);

function putByXhr({ url, body, onProgress, signal }: PutRequest): Promise<PutAnswer> {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    const started = performance.now();
    const stop = () => xhr.abort();
    // It counts from the start of the request, whenever it is set.
    const wait = () => {
      xhr.timeout = performance.now() - started + idleMilliseconds;
    };
    signal.addEventListener('abort', stop);
    xhr.upload.onprogress = ({ loaded }) => {
      wait();
      onProgress(loaded);
    };
    xhr.ontimeout = () => reject(new DOMException('Nothing was sent for a minute.', 'TimeoutError'));
    xhr.onloadend = () => {
      signal.removeEventListener('abort', stop);
      const { status, responseText: text } = xhr;
      // Browsers complain about a header that the store does not show to them.
      if (status) resolve({ status, text, retryAfter: status < 400 ? null : xhr.getResponseHeader('retry-after') });
      else reject(signal.reason ?? new Error('The object store cannot be reached, or CORS forbids it'));
    };
    xhr.open('PUT', url);
    wait();
    xhr.send(body as Blob);
  });
}

async function putByFetch({ url, body, signal }: PutRequest): Promise<PutAnswer> {
  const answer = await fetch(url, { method: 'PUT', body: body as Blob, signal });
  return { status: answer.status, text: await answer.text(), retryAfter: answer.headers.get('retry-after') };
}

/** Web Crypto has no hash in pieces, so the whole file is read into memory. */
export async function toSha256(source: Source): Promise<string> {
  const bytes = await (source.slice() as Blob).arrayBuffer();
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
