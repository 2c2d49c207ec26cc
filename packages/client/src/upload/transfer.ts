import { put } from '#platform';
import { CadizError, readRetryAfter } from '../error.ts';
import type { Chunk, ResumeStore } from '../platform/platform.ts';
import type { Sender } from '../request.ts';
import { type Pace, retrying, toCadizError } from '../retry.ts';
import type { Slots } from './slots.ts';

/** What all uploads of a client share. */
export interface Uploading extends Sender {
  resume: ResumeStore | undefined;
  baseUrl: string;
  retries: number;
  slots: Slots;
}

/** A presigned address, and when it expires. */
export interface Address {
  url: string;
  /** Milliseconds since 1970, of this machine. */
  expiresAt: number;
}

/** Addresses are not used any more shortly before they expire: the store's clock may be ahead. */
const marginMilliseconds = 10_000;

export function toAddress(presignedUrl: string): Address {
  const seconds = Number(new URL(presignedUrl).searchParams.get('X-Amz-Expires') ?? 900);
  return { url: presignedUrl, expiresAt: Date.now() + seconds * 1000 - marginMilliseconds };
}

interface Sending extends Pace {
  chunk: Chunk;
  onProgress: (sent: number) => void;
}

/**
 * Sends bytes to the object store: again on the same address while that may help, and on one new address if the first
 * has expired or is refused.
 *
 * @returns the address that took them
 */
export async function sendBytes<A extends Address>(
  { slots, retries }: Uploading,
  { chunk, onProgress, ...pace }: Sending,
  address: A,
  renew: () => Promise<A>,
): Promise<A> {
  const sendTo = (url: string) =>
    retrying({ ...pace, retries }, (signal) => slots.run(() => putChunk(url, chunk, onProgress, signal)));
  if (Date.now() < address.expiresAt) {
    try {
      await sendTo(address.url);
      return address;
    } catch (error) {
      // Expired, by the store's clock.
      if (toCadizError(error).status !== 403) throw error;
    }
  }
  const renewed = await renew();
  await sendTo(renewed.url);
  return renewed;
}

async function putChunk(
  url: string,
  body: Chunk,
  onProgress: (sent: number) => void,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const answer = await put({ url, body, onProgress, signal }).catch(async (error: unknown) => {
    if (!signal.aborted) await requireReadable(body);
    throw error;
  });
  const { status, text, retryAfter } = answer;
  if (status >= 200 && status < 300) return;
  const retryable = status === 409 || text.includes('<Code>RequestTimeout<') || undefined;
  // What the store says, which is a little XML, without its tags.
  const words = text.replace(/<[^>]*>/g, ' ').slice(0, 300);
  throw new CadizError('upload_refused', `The object store answered ${status}: ${words}`, {
    status,
    retryable,
    retryAfter: readRetryAfter(retryAfter),
  });
}

/** A browser reports a file that cannot be read like a broken connection. */
async function requireReadable(body: Chunk): Promise<void> {
  if (!(body instanceof Blob)) return;
  try {
    await body.slice(0, 1).arrayBuffer();
  } catch (cause) {
    throw new CadizError('file_unreadable', 'The file cannot be read, or has changed.', { cause });
  }
}
