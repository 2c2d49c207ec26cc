import type { Resumable } from '../platform/platform.ts';
import type { Call } from '../request.ts';
import { anyOf, type Pace, toCadizError } from '../retry.ts';
import type { CreatedUpload, File, SignedParts, Upload } from '../types.ts';
import { type Job, paused } from './job.ts';
import { type Address, sendBytes, toAddress, type Uploading } from './transfer.ts';

/** How many addresses of parts one request signs: not all at once, since they expire. */
const signedAtOnce = 16;

const usualConcurrency = 4;

/** An upload in parts as far as it has come: nowhere yet if it was only created. */
type Begun = Resumable & CreatedUpload & Partial<Upload>;

/** Uploads of this program that are under way: the same file twice is two uploads. */
const underWay = new Set<string>();

/**
 * Uploads a file in parts, several at a time, and goes on with an earlier attempt that the job or the resume store
 * knows. If it is aborted, what has arrived is removed; if it is paused, and after any other error, it can be gone on with.
 *
 * @throws CadizError
 */
export async function uploadInParts(uploading: Uploading, job: Job): Promise<File> {
  const { pace, extras, facts, folderId, options } = job;
  const key = await toKey(uploading, job);
  const resume = underWay.has(key) || !key ? undefined : uploading.resume;
  if (resume) underWay.add(key);
  try {
    job.begun ??= await resume?.get(key);
    let begun: Begun | undefined = job.begun && (await find(uploading, job.begun, pace));
    if (!begun) {
      const body = { ...facts, folderId, partSize: options.partSize };
      const { answer, secret } = await uploading.post<CreatedUpload>('uploads', body, pace);
      begun = { ...answer, secret };
      job.begun = { uploadId: answer.uploadId, secret };
      await resume?.set(key, job.begun);
    }
    const known = begun;
    const forget = () => resume?.delete(key).catch(() => undefined);
    // If this fails, the service aborts it when it expires.
    job.remove = () => ask(uploading, known, '', { method: 'DELETE' }).then(forget, forget);
    await sendParts(uploading, job, known);
    const complete = { ...pace, method: 'POST', body: extras, isFinal: true } as const;
    const file = await ask<File>(uploading, known, '/complete', complete);
    await resume?.delete(key);
    return file;
  } catch (error) {
    const { code, cause } = toCadizError(error);
    if (code === 'aborted' && cause !== paused) await job.remove?.();
    throw error;
  } finally {
    if (resume) underWay.delete(key);
  }
}

/** Names one version of one file on its way to one place; '' if it cannot be known again. */
async function toKey({ baseUrl, place }: Uploading, { source, facts, folderId }: Job): Promise<string> {
  const { lastModified } = source;
  return lastModified ? JSON.stringify([baseUrl, (await place()).projectId, folderId, facts, lastModified]) : '';
}

/** @returns undefined if there is nothing to go on with */
async function find(uploading: Uploading, known: Resumable, pace: Pace): Promise<Begun | undefined> {
  try {
    return { ...known, ...(await ask<Upload>(uploading, known, '', { ...pace, method: 'GET' })) };
  } catch (error) {
    if ([401, 403, 404].includes(toCadizError(error).status)) return undefined;
    throw error;
  }
}

async function sendParts(uploading: Uploading, job: Job, begun: Begun): Promise<void> {
  const { source, options } = job;
  const { partSize, partCount, status = 'open', parts = [] } = begun;
  const failed = new AbortController();
  const pace = { ...job.pace, signal: anyOf(options.signal, failed.signal) };
  const startOf = (part: number) => (part - 1) * partSize;
  const sizeOf = (part: number) => Math.min(partSize, source.size - startOf(part));

  const missing: number[] = [];
  /** How many bytes of each part have been sent. */
  const sent: number[] = [];
  const arrived = new Set(parts.map(({ partNumber }) => partNumber));
  for (let part = 1; part <= partCount; part++) {
    if (status === 'open' && !arrived.has(part)) missing.push(part);
    else sent[part] = sizeOf(part);
  }
  const report = () => job.report(sent.reduce((sum, bytes) => sum + bytes, 0));

  const sign = async (partNumbers: readonly number[]): Promise<readonly Address[]> => {
    const call = { ...pace, method: 'POST', body: { partNumbers } } as const;
    return (await ask<SignedParts>(uploading, begun, '/parts', call)).parts.map(toAddress);
  };
  /** The addresses of so many missing parts each, in their order. */
  const signed: Promise<readonly Address[]>[] = [];

  async function sendPart(part: number, index: number): Promise<void> {
    const onProgress = (bytes: number) => {
      sent[part] = bytes;
      report();
    };
    const body = source.slice(startOf(part), startOf(part) + sizeOf(part));
    await sendBytes(uploading, { ...pace, body, onProgress }, async (isAgain) => {
      const group = Math.floor(index / signedAtOnce);
      const start = group * signedAtOnce;
      if (isAgain) return (await sign([part]))[0];
      signed[group] ??= sign(missing.slice(start, start + signedAtOnce));
      return (await signed[group])[index - start];
    });
  }

  report();
  const next = missing.entries();
  const work = async () => {
    try {
      for (const [index, part] of next) await sendPart(part, index);
    } catch (error) {
      // One part has failed for good: the others need not be sent.
      failed.abort(error);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency ?? usualConcurrency }, work));
  failed.signal.throwIfAborted();
}

async function ask<T>(
  { send }: Uploading,
  { uploadId, secret }: Resumable,
  path: string,
  call: Omit<Call, 'path' | 'secret'>,
): Promise<T> {
  return (await send<T>({ ...call, path: `/api/storage/uploads/${uploadId}${path}`, secret })).answer;
}
