import { CadizError } from '../error.ts';
import type { Source } from '../upload/source.ts';
import { openIndexedDb } from './indexed-db.ts';
import { idleMilliseconds, type PutAnswer, type PutRequest, type ResumeStore } from './platform.ts';

/** Browsers open six connections to a host; the page needs some itself. */
export const usualConcurrency = 4;

export const isOffline = (): boolean => globalThis.navigator?.onLine === false;

export const whenOnline = (): Promise<void> =>
  new Promise((resolve) => {
    globalThis.addEventListener('online', () => resolve(), { once: true });
  });

export function openResumeStore(): ResumeStore | undefined {
  return globalThis.indexedDB && openIndexedDb();
}

/** XMLHttpRequest where there is one: fetch does not tell how much it has sent. */
export function put(request: PutRequest): Promise<PutAnswer> {
  return globalThis.XMLHttpRequest ? putByXhr(request) : putByFetch(request);
}

function putByXhr({ url, body, onProgress, signal }: PutRequest): Promise<PutAnswer> {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    let timer: ReturnType<typeof setTimeout>;
    const stop = (reason: unknown) => {
      reject(reason);
      xhr.abort();
    };
    const abort = () => stop(signal.reason);
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(
        () => stop(new CadizError('timed_out', 'Nothing was sent for a minute.', { retryable: true })),
        idleMilliseconds,
      );
    };
    signal.addEventListener('abort', abort);
    xhr.upload.onprogress = ({ loaded }) => {
      wait();
      onProgress(loaded);
    };
    xhr.onerror = () => reject(new Error('the object store is unreachable, or its CORS rules refuse this page'));
    xhr.onload = () => {
      // Browsers complain about a header that the store does not show to them.
      const retryAfter = xhr.status >= 400 ? xhr.getResponseHeader('retry-after') : null;
      resolve({ status: xhr.status, text: xhr.responseText, retryAfter });
    };
    xhr.onloadend = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    };
    wait();
    xhr.open('PUT', url);
    xhr.send(body as Blob);
  });
}

async function putByFetch({ url, body, onProgress, signal }: PutRequest): Promise<PutAnswer> {
  const answer = await fetch(url, { method: 'PUT', body: body as Blob, signal });
  const text = await answer.text();
  onProgress(body.size);
  return { status: answer.status, text, retryAfter: answer.headers.get('retry-after') };
}

/** Web Crypto has no hash in pieces, so the whole file is read into memory. @throws CadizError invalid_argument */
export async function toSha256(source: Source): Promise<string> {
  const bytes = await (source.slice() as Blob).arrayBuffer().catch((cause: unknown) => {
    throw new CadizError('file_unreadable', `${source.size} bytes cannot be read at once for a checksum.`, {
      cause,
    });
  });
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
