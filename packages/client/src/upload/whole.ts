import { type CadizError, isCadizError, toProblemError } from '../error.ts';
import type { Answered } from '../request.ts';
import { toCadizError } from '../retry.ts';
import type { File, PresignedUpload, Problem } from '../types.ts';
import type { Followed, Job, Settled } from './job.ts';
import { type Address, sendBytes, toAddress, type Uploading } from './transfer.ts';

/** Where the bytes of a file go. */
interface Place extends Address {
  storeKey: string;
  /** What was presigned with one ticket is recorded with it. */
  secret: string | undefined;
}

/** As many as one request presigns or records. */
export const batchSize = 100;

/** How long an uploaded file waits for those that share its request: what is not recorded can get lost. */
const recordMilliseconds = 20_000;

/**
 * Uploads files that are sent whole, at most a batch of them: presigns them with one request just before their bytes,
 * and records them with one.
 */
export async function uploadWhole(
  uploading: Uploading,
  jobs: readonly Job[],
  { sent, settle }: Followed,
): Promise<void> {
  let stored: Stored[] = [];
  let since = Date.now();
  const places = await presign(uploading, jobs);
  const recordStored = async () => {
    const taken = stored;
    stored = [];
    since = Date.now();
    await recordAll(uploading, taken, settle);
  };
  await Promise.all(
    jobs.map(async (job, index) => {
      try {
        stored.push({ job, place: await store(uploading, job, places[index]) });
      } catch (error) {
        settle(job, toCadizError(error));
      }
      sent?.(job);
      if (stored.length > 0 && Date.now() - since > recordMilliseconds) await recordStored();
    }),
  );
  await recordStored();
}

interface Stored {
  job: Job;
  place: Place;
}

async function store(uploading: Uploading, job: Job, place: Place | CadizError | undefined): Promise<Place> {
  const { source, gate, options } = job;
  const chunk = source.slice(0, source.size);
  const sending = { chunk, onProgress: job.report, signal: options.signal, gate };
  return sendBytes(uploading, sending, orThrow(place), async () => orThrow((await presign(uploading, [job]))[0]));
}

async function presign(uploading: Uploading, jobs: readonly Job[]): Promise<(Place | CadizError)[]> {
  const entries = jobs.map((job) => ({ job, fields: { ...job.facts, folderId: job.folderId } }));
  const outcomes = await ask<PresignedUpload>(uploading, { route: 'presign', field: 'upload', entries });
  return outcomes.map((outcome) => {
    if (outcome instanceof Error) return outcome;
    const { answer, secret } = outcome;
    return { ...toAddress(answer.presignedUrl), storeKey: answer.storeKey, secret };
  });
}

async function recordAll(
  uploading: Uploading,
  stored: readonly Stored[],
  settle: (job: Job, outcome: Settled) => void,
): Promise<void> {
  const secrets = new Set(stored.map(({ place }) => place.secret));
  await Promise.all(
    [...secrets].map(async (secret) => {
      const group = stored.filter(({ place }) => place.secret === secret);
      const outcomes = await record(uploading, group, secret);
      await Promise.all(
        group.map(async ({ job }, index) => {
          const outcome = outcomes[index] as Settled;
          const isMissing = isCadizError(outcome) && outcome.code === 'upload_missing';
          settle(job, isMissing ? await uploadAgain(uploading, job) : outcome);
        }),
      );
    }),
  );
}

/** The store took the bytes and has lost them: once more from the beginning. */
async function uploadAgain(uploading: Uploading, job: Job): Promise<Settled> {
  try {
    const place = await store(uploading, job, (await presign(uploading, [job]))[0]);
    return orThrow((await record(uploading, [{ job, place }], place.secret))[0]);
  } catch (error) {
    return toCadizError(error);
  }
}

async function record(uploading: Uploading, stored: readonly Stored[], secret: string | undefined): Promise<Settled[]> {
  const entries = stored.map(({ job, place: { storeKey } }) => {
    const { metadata, externalId, replaces } = job.options;
    return { job, fields: { ...job.facts, storeKey, folderId: job.folderId, metadata, externalId, replaces } };
  });
  const outcomes = await ask<File>(uploading, { route: 'record', field: 'file', entries, secret });
  return outcomes.map((outcome) => (outcome instanceof Error ? outcome : outcome.answer));
}

interface Question {
  route: 'presign' | 'record';
  /** What an answer for several files calls the answer for one. */
  field: 'upload' | 'file';
  entries: readonly { job: Job; fields: object }[];
  secret?: string | undefined;
  refused?: string | undefined;
}

/** Asks for one file by itself, and for several with one request. What becomes of each, in their order. */
async function ask<T>(uploading: Uploading, question: Question): Promise<(Answered<T> | CadizError)[]> {
  const { route, field, entries, secret, refused } = question;
  const [first] = entries;
  if (!first) return [];
  const { gate, options } = first.job;
  const path = `/api/storage/${route}`;
  const call = { method: 'POST', secret, refused, gate, isFinal: route === 'record' } as const;
  try {
    const { projectId } = await uploading.place();
    if (entries.length === 1) {
      const body = { projectId, ...first.fields };
      return [await uploading.sendAs<T>({ ...call, path, body, signal: options.signal })];
    }
    const body = { projectId, files: entries.map(({ fields }) => fields) };
    const { answer, ...rest } = await uploading.sendAs<Results<T>>({ ...call, path: `${path}/batch`, body });
    const outcomes = answer.results.map((result) =>
      result.problem ? toProblemError(result.problem) : { answer: result[field] as T, ...rest },
    );
    // A ticket that was not enough for all of them: the others with another one, as long as each is enough for some.
    const left = entries.filter((_, index) => isExhausted(outcomes[index]));
    const isInVain = refused !== undefined && left.length === entries.length;
    if (left.length === 0 || isInVain || rest.secret === undefined) return outcomes;
    const later = await ask<T>(uploading, { ...question, entries: left, refused: rest.secret });
    return outcomes.map((outcome) => (isExhausted(outcome) ? (later.shift() ?? outcome) : outcome));
  } catch (error) {
    const failure = toCadizError(error);
    if (failure.code !== 'invalid_request' || entries.length === 1) return entries.map(() => failure);
    // A batch with an invalid entry is refused as a whole.
    return (await Promise.all(entries.map((entry) => ask<T>(uploading, { ...question, entries: [entry] })))).flat();
  }
}

const isExhausted = (outcome: unknown) => isCadizError(outcome) && outcome.code === 'ticket_exhausted';

interface Results<T> {
  results: ({ problem?: Problem } & { upload?: T; file?: T })[];
}

function orThrow<T extends object>(outcome: T | CadizError | undefined): T {
  if (!outcome || outcome instanceof Error) throw outcome;
  return outcome;
}
