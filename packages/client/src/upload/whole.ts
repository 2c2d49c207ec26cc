import { type CadizError, isCadizError, toProblemError } from '../error.ts';
import type { Answered } from '../request.ts';
import { toCadizError } from '../retry.ts';
import type { File, PresignedUpload, Problem } from '../types.ts';
import type { Followed, Job } from './job.ts';
import { orThrow, together } from './together.ts';
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
  const recordStored = () => {
    const taken = stored;
    stored = [];
    since = Date.now();
    return recordAll(uploading, taken, settle);
  };
  await Promise.all(
    jobs.map(async (job, index) => {
      try {
        const place = await store(uploading, job, places[index]);
        // Only now: while its bytes were sent, those before it may have been recorded.
        stored.push({ job, place });
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
  const { source, pace } = job;
  const sending = { ...pace, chunk: source.slice(0, source.size), onProgress: job.report };
  return sendBytes(uploading, sending, orThrow(place), async () => orThrow((await presign(uploading, [job]))[0]));
}

async function presign(uploading: Uploading, jobs: readonly Job[]): Promise<readonly (Place | CadizError)[]> {
  const entries = jobs.map((job) => ({ job, fields: toFields(job) }));
  const outcomes = await ask<PresignedUpload>(uploading, 'presign', entries);
  return outcomes.map((outcome) => {
    if (outcome instanceof Error) return outcome;
    const { presignedUrl, storeKey } = outcome.answer;
    return { ...toAddress(presignedUrl), storeKey, secret: outcome.secret };
  });
}

async function recordAll(uploading: Uploading, stored: readonly Stored[], settle: Followed['settle']): Promise<void> {
  const secrets = new Set(stored.map(({ place }) => place.secret));
  await Promise.all(
    Array.from(secrets, async (secret) => {
      const group = stored.filter(({ place }) => place.secret === secret);
      const entries = group.map(({ job, place: { storeKey } }) => ({
        job,
        fields: { ...toFields(job), ...job.extras, storeKey },
      }));
      const outcomes = await ask<File>(uploading, 'record', entries, secret);
      for (const [index, { job }] of group.entries()) {
        const outcome = outcomes[index] as Answered<File> | CadizError;
        settle(job, outcome instanceof Error ? outcome : outcome.answer);
      }
    }),
  );
}

const toFields = ({ facts, folderId }: Job) => ({ ...facts, folderId });

/** What is asked about one file. */
interface Entry {
  job: Job;
  fields: object;
}

/** Asks about one file by itself, and about several with one request. */
async function ask<T>(
  uploading: Uploading,
  route: 'presign' | 'record',
  entries: readonly Entry[],
  secret?: string,
): Promise<readonly (Answered<T> | CadizError)[]> {
  return together<Entry, Answered<T>>(entries, async (entries) => {
    const { projectId } = await uploading.place();
    const [{ job, fields }] = entries as [Entry];
    const path = `/api/storage/${route}`;
    const call = { method: 'POST', secret, gate: job.pace.gate, isFinal: route === 'record' } as const;
    if (entries.length === 1) {
      const body = { projectId, ...fields };
      return [await uploading.sendAs<T>({ ...call, ...job.pace, path, body })];
    }
    const body = { projectId, files: entries.map(({ fields }) => fields) };
    const { answer, ...rest } = await uploading.sendAs<Results<T>>({ ...call, path: `${path}/batch`, body, verify });
    const outcomes = answer.results.map(({ problem, upload, file }) =>
      problem ? toProblemError(problem) : { answer: (upload ?? file) as T, ...rest },
    );
    // A ticket that was not enough for all of them: the others with the next one.
    const left = secret === undefined ? entries.filter((_, index) => isExhausted(outcomes[index])) : [];
    const later = left.length > 0 ? [...(await ask<T>(uploading, route, left))] : [];
    return outcomes.map((outcome) => (isExhausted(outcome) && later.shift()) || outcome);
  });
}

/** A ticket that is used up for all of a batch is refused like one that is used up for a single file. @throws CadizError */
function verify(answer: unknown): void {
  const problems = (answer as Results<unknown>).results.map(({ problem }) => problem);
  if (problems[0] && problems.every((problem) => problem?.code === 'ticket_exhausted'))
    throw toProblemError(problems[0]);
}

const isExhausted = (outcome: unknown) => isCadizError(outcome) && outcome.code === 'ticket_exhausted';

interface Results<T> {
  results: { problem?: Problem; upload?: T; file?: T }[];
}
