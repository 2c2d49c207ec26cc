import type { Resumable, ResumeStore } from '../platform/platform.ts';
import type { Call } from '../request.ts';
import { anyOf, toCadizError } from '../retry.ts';
import type { CreatedUpload, File, SignedParts, Upload } from '../types.ts';
import { changed, type Job, paused } from './job.ts';
import { createSlots, type Slots } from './slots.ts';
import { type SignedUrl, sendBytes, toSignedUrl, type Uploading } from './transfer.ts';

/** How many URLs of parts one request signs: not all at once, since they expire. */
const signedAtOnce = 16;

const usualConcurrency = 4;

/** An upload in parts as far as it has come: nowhere yet if it was only created. */
type Begun = Resumable & CreatedUpload & Partial<Upload>;

/** Uploads of this program that are under way, and those that cannot be known again: the same file twice is two uploads. */
const underWay = new Set(['']);

/**
 * Uploads a file in parts, several at a time, and goes on with an earlier attempt that the job or the resume store
 * knows. If it is aborted, or its file has changed, what has arrived is removed; if it is paused, and after any other error,
 * it can be gone on with.
 *
 * @throws CadizError
 */
export async function uploadInParts(uploading: Uploading, job: Job): Promise<File> {
  const { pace, extras, facts, folderId, options } = job;
  const slots = createSlots(options.concurrency ?? usualConcurrency);
  const key = await toKey(uploading, job);
  const resume = underWay.has(key) ? undefined : uploading.resume;
  /** Whatever the store does, the upload goes on: at worst it is not remembered. */
  async function remember<T>(use: (store: ResumeStore) => Promise<T>): Promise<T | undefined> {
    try {
      return resume && (await use(resume));
    } catch {
      return undefined;
    }
  }
  const forget = () => remember((store) => store.delete(key));
  const complete = (begun: Resumable) =>
    ask<File>(uploading, begun, '/complete', { ...pace, method: 'POST', body: extras, isFinal: true });
  /** Answers undefined if there is nothing to go on with. */
  async function find(known: Resumable): Promise<Begun | undefined> {
    try {
      const found = await ask<Upload>(uploading, known, '', { ...pace, method: 'GET' });
      // Its file may have been deleted since, or be there with other metadata.
      if (found.status === 'completed') await complete(known);
      return { ...known, ...found };
    } catch (error) {
      if (toCadizError(error).retryable) throw error;
      return undefined;
    }
  }
  // If this fails, the service aborts it when it expires.
  const remove = async () => job.begun && ask(uploading, job.begun, '', { method: 'DELETE' }).then(forget, forget);
  job.remove = remove;
  if (resume) underWay.add(key);
  try {
    job.begun ??= await remember((store) => store.get(key));
    let begun: Begun | undefined = job.begun && (await find(job.begun));
    if (!begun) {
      const body = { ...facts, folderId, partSize: options.partSize };
      // If the request were aborted, its upload could exist, and take up quota, with nobody here who can remove it.
      const { answer, secret } = await uploading.post<CreatedUpload>('uploads', body, { ...pace, isFinal: true });
      begun = { ...answer, secret };
      job.begun = { uploadId: answer.uploadId, secret };
      await remember((store) => store.set(key, job.begun as Resumable));
    }
    await sendParts(uploading, job, begun, slots);
    const file = await complete(begun);
    await forget();
    return file;
  } catch (error) {
    const { code, cause } = toCadizError(error);
    if (cause === changed || (code === 'aborted' && cause !== paused)) await remove();
    throw error;
  } finally {
    if (resume) underWay.delete(key);
  }
}

/** Names one version of one file on its way to one place; '' if it cannot be known again. */
async function toKey({ baseUrl, project }: Uploading, { source, facts, folderId }: Job): Promise<string> {
  const { lastModified } = source;
  return lastModified ? JSON.stringify([baseUrl, await project(), folderId, facts, lastModified]) : '';
}

async function sendParts(uploading: Uploading, job: Job, begun: Begun, slots: Slots): Promise<void> {
  const { source } = job;
  const { partSize, partCount, status = 'open', parts = [] } = begun;
  const failed = new AbortController();
  const pace = { ...job.pace, signal: anyOf(job.pace.signal, failed.signal) };
  const endOf = (part: number) => Math.min(part * partSize, source.size);

  const missing: number[] = [];
  /** How many bytes of each part have been sent. */
  const sent: number[] = [];
  const arrived = new Set(parts.map(({ partNumber }) => partNumber));
  for (let part = 1; part <= partCount; part++) {
    if (status === 'open' && !arrived.has(part)) missing.push(part);
    else sent[part] = endOf(part) - endOf(part - 1);
  }
  const report = () => job.report(sent.reduce((sum, bytes) => sum + bytes, 0));

  const sign = async (partNumbers: readonly number[]): Promise<readonly SignedUrl[]> => {
    const call = { ...pace, method: 'POST', body: { partNumbers } } as const;
    return (await ask<SignedParts>(uploading, begun, '/parts', call)).parts.map(toSignedUrl);
  };
  /** The URLs of so many missing parts each, by the index of the first. */
  const signed: Promise<readonly SignedUrl[]>[] = [];

  async function sendPart(part: number, index: number): Promise<void> {
    const sending = {
      pace,
      source: { slice: () => source.slice(endOf(part - 1), endOf(part)) },
      report(bytes: number) {
        sent[part] = bytes;
        report();
      },
    };
    await sendBytes(uploading, sending, async (isAgain) => {
      if (isAgain) return (await sign([part]))[0];
      const at = index % signedAtOnce;
      const start = index - at;
      signed[start] ??= sign(missing.slice(start, start + signedAtOnce));
      return (await signed[start])?.[at];
    });
  }

  report();
  // If one part fails for good, the others need not be sent.
  const fail = (error: unknown) => failed.abort(error);
  await Promise.all(missing.map((part, index) => slots.run(() => sendPart(part, index).catch(fail))));
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
