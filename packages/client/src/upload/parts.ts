import { isCadizError } from '../error.ts';
import type { Resumable } from '../platform/platform.ts';
import type { Call } from '../request.ts';
import { anyOf, toCadizError } from '../retry.ts';
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
  const { pace, extras } = job;
  const key = await toKey(uploading, job);
  const resume = underWay.has(key) || !key ? undefined : uploading.resume;
  if (resume) underWay.add(key);
  try {
    job.begun ??= await resume?.get(key);
    let begun = job.begun && (await find(uploading, job, job.begun));
    if (!begun) {
      begun = await begin(uploading, job);
      const { uploadId, secret } = begun;
      job.begun = { uploadId, secret };
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
    if (isCadizError(error) && error.code === 'aborted' && error.cause !== paused) await job.remove?.();
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

async function begin(uploading: Uploading, { facts, folderId, pace, options }: Job): Promise<Begun> {
  const { projectId } = await uploading.place();
  const body = { projectId, ...facts, folderId, partSize: options.partSize };
  const call = { ...pace, method: 'POST', path: '/api/storage/uploads', body } as const;
  const { answer, secret } = await uploading.sendAs<CreatedUpload>(call);
  return { ...answer, secret };
}

/** @returns undefined if there is nothing to go on with */
async function find(uploading: Uploading, { pace }: Job, known: Resumable): Promise<Begun | undefined> {
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

  const signed: Record<number, Promise<(Address & { partNumber: number })[]> | undefined> = {};
  async function sign(part: number): Promise<Address> {
    if (!signed[part]) {
      const partNumbers = missing.filter((other) => other >= part && !signed[other]).slice(0, signedAtOnce);
      const call = { ...pace, method: 'POST', body: { partNumbers } } as const;
      const addresses = ask<SignedParts>(uploading, begun, '/parts', call).then(({ parts }) => parts.map(toAddress));
      for (const other of partNumbers) signed[other] = addresses;
    }
    return (await signed[part])?.find(({ partNumber }) => partNumber === part) as Address;
  }

  async function sendPart(part: number): Promise<void> {
    const onProgress = (bytes: number) => {
      sent[part] = bytes;
      report();
    };
    const chunk = source.slice(startOf(part), startOf(part) + sizeOf(part));
    await sendBytes(uploading, { ...pace, chunk, onProgress }, await sign(part), () => {
      signed[part] = undefined;
      return sign(part);
    });
  }

  report();
  const next = missing.values();
  const work = async () => {
    try {
      for (const part of next) await sendPart(part);
    } catch (error) {
      // One part has failed for good: the others need not be sent.
      failed.abort(error);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency ?? usualConcurrency }, work));
  failed.signal.throwIfAborted();
}

function ask<T>(
  { send }: Uploading,
  { uploadId, secret }: Resumable,
  path: string,
  call: Omit<Call, 'path' | 'secret'>,
): Promise<T> {
  return send({ ...call, path: `/api/storage/uploads/${uploadId}${path}`, secret });
}
