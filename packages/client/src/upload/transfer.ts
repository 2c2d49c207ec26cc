import { put, toBody } from '#platform';
import { CadizError, readRetryAfter, unreadable } from '../error.ts';
import type { PutRequest, ResumeStore } from '../platform/platform.ts';
import type { Sender } from '../request.ts';
import { type Pace, retrying, toCadizError } from '../retry.ts';
import type { Slots } from './slots.ts';
import type { Source } from './source.ts';
import { orThrow } from './together.ts';

/** What all uploads of a client share. */
export interface Uploading extends Sender {
  resume: ResumeStore | undefined;
  baseUrl: string | URL;
  slots: Slots;
}

/** A presigned URL, and when it expires. */
export interface SignedUrl {
  presignedUrl: string;
  /** Milliseconds since 1970, of this machine. */
  expiresAt: number;
}

/** URLs are no longer used shortly before they expire: the store's clock may be ahead. */
const marginMilliseconds = 10_000;

/** With the time at which it expires: 15 minutes from now if the URL does not say. */
export function toSignedUrl<S extends { presignedUrl: string }>(signed: S): S & SignedUrl {
  const [, seconds = 900] = /X-Amz-Expires=(\d+)/.exec(signed.presignedUrl) ?? [];
  return { ...signed, expiresAt: Date.now() + +seconds * 1000 - marginMilliseconds };
}

/** What sending needs of an upload, or of a part of one. */
interface Sending {
  pace: Pace;
  /** Sliced when it is sent, each time: browsers take a while for it, which adds up for a hundred. */
  source: Pick<Source, 'slice'>;
  report: (sent: number) => void;
}

/**
 * Sends bytes to the object store: again to the same URL while that may help, to another one if it expires before
 * their turn, and to one more if the store refuses it.
 *
 * @param sign gets the URL, or another one
 * @returns the URL that took them
 */
export async function sendBytes<S extends SignedUrl>(
  { slots, retries }: Uploading,
  { source, report: onProgress, pace }: Sending,
  sign: (isAgain?: boolean) => Promise<S | undefined>,
): Promise<S> {
  let signed = orThrow(await sign());
  const renew = async () => {
    signed = orThrow(await sign(true));
  };
  const send = () =>
    retrying({ ...pace, retries }, (signal) =>
      slots.run(async () => {
        if (Date.now() > signed.expiresAt) await renew();
        await putChunk({ url: signed.presignedUrl, body: toBody(source), onProgress, signal });
      }),
    );
  try {
    await send();
  } catch (error) {
    // Expired, by the store's clock.
    if (toCadizError(error).status !== 403) throw error;
    await renew();
    await send();
  }
  return signed;
}

async function putChunk(request: PutRequest): Promise<void> {
  const { body, onProgress, signal } = request;
  signal.throwIfAborted();
  onProgress(0);
  const { status, text, retryAfter } = await put(request).catch(async (error: unknown) => {
    // A browser reports a file that cannot be read like a broken connection.
    if (!signal.aborted && body instanceof Blob) await body.slice(0, 1).arrayBuffer().catch(unreadable);
    throw error;
  });
  if (status < 300) return onProgress(body.size);
  // What the store says, which is a little XML, without its tags.
  const words = text.replace(/<[^>]*>/g, ' ').slice(0, 200);
  throw new CadizError('upload_refused', `The object store answered ${status}: ${words}`, {
    status,
    retryable: status === 409 || text.includes('<Code>RequestTimeout<') || undefined,
    retryAfter: readRetryAfter(retryAfter),
  });
}
