import { isCadizError } from '../error.ts';
import type { Resumable, ResumeStore } from '../platform/platform.ts';
import type { Answered, Call } from '../request.ts';
import { toCadizError } from '../retry.ts';
import type { CreatedUpload, File, SignedParts, Upload } from '../types.ts';
import type { Job } from './job.ts';
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
 * Uploads a file in parts, several at a time, and goes on with an earlier attempt that the resume store knows. If it is
 * aborted, what has arrived is removed; after any other error it can be gone on with.
 *
 * @throws CadizError
 */
export async function uploadInParts(uploading: Uploading, job: Job, store: ResumeStore | undefined): Promise<File> {
  const key = await toKey(uploading, job);
  const resume = key === undefined || underWay.has(key) ? undefined : store;
  if (!resume || key === undefined) return upload(uploading, job, undefined, async () => undefined);
  underWay.add(key);
  try {
    const keep = (begun: Resumable | undefined) => (begun ? resume.set(key, begun) : resume.delete(key));
    return await upload(uploading, job, await resume.get(key), keep);
  } finally {
    underWay.delete(key);
  }
}

/** Names one version of one file on its way to one place. undefined if it cannot be known again. */
async function toKey({ baseUrl, place }: Uploading, { source, facts, folderId }: Job): Promise<string | undefined> {
  const { lastModified } = source;
  if (!lastModified) return undefined;
  return JSON.stringify([baseUrl, (await place()).projectId, folderId, facts, lastModified]);
}

async function upload(
  uploading: Uploading,
  job: Job,
  known: Resumable | undefined,
  keep: (begun: Resumable | undefined) => Promise<void>,
): Promise<File> {
  let begun = known && (await find(uploading, job, known));
  try {
    for (let isAgain = false; ; isAgain = true) {
      if (!begun) {
        begun = await begin(uploading, job);
        const { uploadId, secret } = begun;
        await keep({ uploadId, secret });
      }
      try {
        await sendParts(uploading, job, begun);
        const file = await complete(uploading, job, begun);
        await keep(undefined);
        return file;
      } catch (error) {
        const { code } = toCadizError(error);
        if (isAgain || (code !== 'upload_incomplete' && code !== 'upload_not_found')) throw error;
        // The store has lost parts of it, or all.
        begun = await find(uploading, job, begun);
      }
    }
  } catch (error) {
    if (isCadizError(error) && error.code === 'aborted' && begun) {
      // If this fails, the service aborts it when it expires.
      await uploading.send(toCall(begun, '', { method: 'DELETE' })).catch(() => undefined);
      await keep(undefined);
    }
    throw error;
  }
}

async function begin(uploading: Uploading, { facts, folderId, gate, options }: Job): Promise<Begun> {
  const { partSize, signal } = options;
  const { projectId } = await uploading.place();
  const body = { projectId, ...facts, folderId, partSize };
  const call: Call = { method: 'POST', path: '/api/storage/uploads', body, signal, gate };
  const { answer, secret }: Answered<CreatedUpload> = await uploading.sendAs(call);
  return { ...answer, secret, arrived: new Set() };
}

/** @returns undefined if there is nothing to go on with */
async function find(uploading: Uploading, { gate, options }: Job, known: Resumable): Promise<Begun | undefined> {
  try {
    const found = await uploading.send<Upload>({
      ...toCall(known, '', { method: 'GET' }),
      signal: options.signal,
      gate,
    });
    const isJoined = found.status !== 'open';
    const all = Array.from({ length: found.partCount }, (_, index) => index + 1);
    return {
      ...found,
      secret: known.secret,
      arrived: new Set(isJoined ? all : found.parts.map((part) => part.partNumber)),
    };
  } catch (error) {
    const { status } = toCadizError(error);
    if (status === 401 || status === 403 || status === 404) return undefined;
    throw error;
  }
}

async function sendParts(uploading: Uploading, job: Job, begun: Begun): Promise<void> {
  const { source, gate, options } = job;
  const { partSize, partCount, arrived } = begun;
  const sizeOf = (part: number) => Math.min(partSize, source.size - (part - 1) * partSize);
  const missing = Array.from({ length: partCount }, (_, index) => index + 1).filter((part) => !arrived.has(part));
  const failed = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, failed.signal]) : failed.signal;

  const underWay = new Map<number, number>();
  const report = () => {
    let loaded = 0;
    for (const part of arrived) loaded += sizeOf(part);
    for (const sent of underWay.values()) loaded += sent;
    job.report(loaded);
  };

  const signed = new Map<number, Promise<Address>>();
  const sign = (part: number): Promise<Address> => {
    const partNumbers = missing.filter((other) => other >= part && !signed.has(other)).slice(0, signedAtOnce);
    const call = toCall(begun, '/parts', { method: 'POST', body: { partNumbers } });
    const answer = uploading.send<SignedParts>({ ...call, signal, gate });
    for (const other of partNumbers) {
      const address = answer.then(({ parts }) =>
        toAddress(parts.find(({ partNumber }) => partNumber === other)?.presignedUrl ?? ''),
      );
      address.catch(() => undefined);
      signed.set(other, address);
    }
    return signed.get(part) as Promise<Address>;
  };
  const renew = (part: number) => {
    signed.delete(part);
    return sign(part);
  };

  async function sendPart(part: number): Promise<void> {
    const start = (part - 1) * partSize;
    const onProgress = (sent: number) => {
      underWay.set(part, sent);
      report();
    };
    const chunk = source.slice(start, start + sizeOf(part));
    const address = await (signed.get(part) ?? sign(part));
    await sendBytes(uploading, { chunk, onProgress, signal, gate }, address, () => renew(part));
    underWay.delete(part);
    arrived.add(part);
    report();
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

function complete(uploading: Uploading, { gate, options }: Job, begun: Begun): Promise<File> {
  const { metadata, externalId, replaces, signal } = options;
  const body = { metadata, externalId, replaces };
  return uploading.send({ ...toCall(begun, '/complete', { method: 'POST', body }), signal, gate, isFinal: true });
}

function toCall({ uploadId, secret }: Resumable, path: string, call: Pick<Call, 'method' | 'body'>): Call {
  return { ...call, path: `/api/storage/uploads/${uploadId}${path}`, secret };
}
