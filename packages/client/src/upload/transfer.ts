import { put } from '#platform';
import { CadizError, isPassing } from '../error.ts';
import type { Chunk } from '../platform/platform.ts';
import type { Sender } from '../request.ts';
import { type Gate, retrying } from '../retry.ts';
import type { Slots } from './slots.ts';

/** What all uploads of a client share. */
export interface Uploading extends Sender {
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

interface Sending {
  chunk: Chunk;
  onProgress: (sent: number) => void;
  signal?: AbortSignal | undefined;
  gate?: Gate | undefined;
}

/**
 * Sends bytes to the object store: again on the same address while that may help, and on one new address if the first
 * has expired or is refused.
 *
 * @returns the address that took them
 */
export async function sendBytes<A extends Address>(
  { slots, retries }: Uploading,
  { chunk, onProgress, signal, gate }: Sending,
  address: A,
  renew: () => Promise<A>,
): Promise<A> {
  const sendTo = (url: string) =>
    retrying({ retries, signal, gate }, (signal) => slots.run(() => putChunk(url, chunk, onProgress, signal)));
  if (Date.now() < address.expiresAt) {
    try {
      await sendTo(address.url);
      return address;
    } catch (error) {
      // Expired, by the store's clock.
      if (!(error instanceof CadizError) || error.status !== 403) throw error;
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
  const [, code = ''] = /<Code>(.*?)<\/Code>/.exec(text) ?? [];
  const [, message = text.slice(0, 200)] = /<Message>(.*?)<\/Message>/s.exec(text) ?? [];
  const retryable = isPassing(status) || status === 409 || code === 'RequestTimeout';
  const words = `The object store refused the bytes with ${status} ${code}: ${message}`;
  throw new CadizError('upload_refused', words, { status, retryable, retryAfter });
}

/** A browser reports a file that cannot be read like a broken connection. */
async function requireReadable(body: Chunk): Promise<void> {
  if (!(body instanceof Blob)) return;
  try {
    await body.slice(0, 1).arrayBuffer();
  } catch (cause) {
    throw new CadizError('file_unreadable', 'The file cannot be read, or has changed since it was chosen.', { cause });
  }
}
