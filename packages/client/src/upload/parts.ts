import { isCadizError } from '../error.ts';
import type { Resumable } from '../platform/platform.ts';
import type { Answered, Call } from '../request.ts';
import { anyOf, toCadizError } from '../retry.ts';
import type { CreatedUpload, File, SignedParts, Upload } from '../types.ts';
import { type Job, paused } from './job.ts';
import { type Address, sendBytes, toAddress, type Uploading } from './transfer.ts';

/** How many addresses of parts one request signs: not all at once, since they expire. */
const signedAtOnce = 16;

const usualConcurrency = 4;

/** An upload in parts as far as it has come. */
interface Begun extends Resumable {
  partSize: number;
  partCount: number;
  arrived: Set<number>;
}

/** Uploads of this program that are under way: the same file twice is two uploads. */
const underWay = new Set<string>();

/**
 * Uploads a file in parts, several at a time, and goes on with an earlier attempt that the job or the resume store
 * knows. If it is aborted, what has arrived is removed; if it is paused, and after any other error, it can be gone on with.
 *
 * @throws CadizError
 */
export async function uploadInParts(uploading: Uploading, job: Job): Promise<File> {
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
    const call = toCall(begun, '', { method: 'DELETE' });
    const forget = () => resume?.delete(key).catch(() => undefined);
    // If this fails, the service aborts it when it expires.
    job.remove = () => uploading.send(call).then(forget, forget);
    await sendParts(uploading, job, begun);
    const file = await complete(uploading, job, begun);
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
  const call: Call = { ...pace, method: 'POST', path: '/api/storage/uploads', body };
  const { answer, secret }: Answered<CreatedUpload> = await uploading.sendAs(call);
  return { ...answer, secret, arrived: new Set() };
}

/** @returns undefined if there is nothing to go on with */
async function find(uploading: Uploading, { pace }: Job, known: Resumable): Promise<Begun | undefined> {
  try {
    const found = await uploading.send<Upload>(toCall(known, '', { ...pace, method: 'GET' }));
    const arrived = found.status === 'open' ? found.parts.map(({ partNumber }) => partNumber) : numbers(found);
    return { ...found, secret: known.secret, arrived: new Set(arrived) };
  } catch (error) {
    if ([401, 403, 404].includes(toCadizError(error).status)) return undefined;
    throw error;
  }
}

const numbers = ({ partCount }: { partCount: number }) => Array.from({ length: partCount }, (_, index) => index + 1);

async function sendParts(uploading: Uploading, job: Job, begun: Begun): Promise<void> {
  const { source, options } = job;
  const { partSize, arrived } = begun;
  const failed = new AbortController();
  const pace = { ...job.pace, signal: anyOf(options.signal, failed.signal) };
  const missing = numbers(begun).filter((part) => !arrived.has(part));
  const sizeOf = (part: number) => Math.min(partSize, source.size - (part - 1) * partSize);

  /** How many bytes of each part have been sent. */
  const sent = new Map(Array.from(arrived, (part) => [part, sizeOf(part)]));
  const report = () => job.report([...sent.values()].reduce((sum, bytes) => sum + bytes, 0));

  const signed = new Map<number, Promise<Map<number, Address>>>();
  async function sign(part: number): Promise<Address> {
    if (!signed.has(part)) {
      const partNumbers = missing.filter((other) => other >= part && !signed.has(other)).slice(0, signedAtOnce);
      const addresses = uploading
        .send<SignedParts>(toCall(begun, '/parts', { ...pace, method: 'POST', body: { partNumbers } }))
        .then(({ parts }) => new Map(parts.map((part) => [part.partNumber, toAddress(part.presignedUrl)])));
      for (const other of partNumbers) signed.set(other, addresses);
    }
    return (await signed.get(part))?.get(part) as Address;
  }
  const renew = (part: number) => {
    signed.delete(part);
    return sign(part);
  };

  async function sendPart(part: number): Promise<void> {
    const start = (part - 1) * partSize;
    const onProgress = (bytes: number) => {
      sent.set(part, bytes);
      report();
    };
    const chunk = source.slice(start, start + sizeOf(part));
    await sendBytes(uploading, { ...pace, chunk, onProgress }, await sign(part), () => renew(part));
    onProgress(chunk.size);
  }

  report();
  const next = missing.values();
  const work = async () => {
    for (const part of next) await sendPart(part);
  };
  const workers = Array.from({ length: options.concurrency ?? usualConcurrency }, work);
  try {
    await Promise.all(workers);
  } catch (error) {
    // One part has failed for good: the others need not be sent.
    failed.abort();
    await Promise.allSettled(workers);
    throw error;
  }
}

function complete(uploading: Uploading, { pace, extras }: Job, begun: Begun): Promise<File> {
  return uploading.send(toCall(begun, '/complete', { ...pace, method: 'POST', body: extras, isFinal: true }));
}

function toCall({ uploadId, secret }: Resumable, path: string, call: Omit<Call, 'path' | 'secret'>): Call {
  return { ...call, path: `/api/storage/uploads/${uploadId}${path}`, secret };
}
