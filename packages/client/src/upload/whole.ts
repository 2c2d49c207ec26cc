import { type CadizError, toProblemError } from '../error.ts';
import { toCadizError } from '../retry.ts';
import type { File, PresignedUpload, Problem } from '../types.ts';
import type { Followed, Job } from './job.ts';
import { orThrow, together } from './together.ts';
import { type SignedUrl, sendBytes, toSignedUrl, type Uploading } from './transfer.ts';

/** As many as one request presigns or records. */
export const batchSize = 100;

/** How long an uploaded file waits for those that share its request: what is not recorded can get lost. */
const recordMilliseconds = 20_000;

/** What a file is asked about by itself; with `/batch`, several with one request. */
type Route = 'presign' | 'record';

/**
 * Uploads files that are sent whole, at most a batch of them: presigns them with one request just before their bytes,
 * and records them with one.
 */
export async function uploadWhole(
  uploading: Uploading,
  jobs: readonly Job[],
  { sent, settle }: Followed,
): Promise<void> {
  let stored: Job[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const recordings: Promise<void>[] = [];
  const record = () => {
    clearTimeout(timer);
    // What was presigned with one ticket is recorded with it.
    for (const secret of new Set(stored.map((job) => job.secret))) {
      const group = stored.filter((job) => job.secret === secret);
      const recording = ask<File>(uploading, 'record', group, secret).then((outcomes) => {
        for (const [index, job] of group.entries()) settle(job, outcomes[index] as File | CadizError);
      });
      recordings.push(recording);
    }
    stored = [];
  };
  const places = await presign(uploading, jobs);
  await Promise.all(
    jobs.map(async (job, index) => {
      try {
        const { storeKey } = await sendBytes(uploading, job, async (isAgain) =>
          orThrow(isAgain ? (await presign(uploading, [job]))[0] : places[index]),
        );
        job.storeKey = storeKey;
        // Only now: while its bytes were sent, those before it may have been recorded.
        if (stored.push(job) < 2) timer = setTimeout(record, recordMilliseconds);
      } catch (error) {
        settle(job, toCadizError(error));
      }
      sent?.(job);
    }),
  );
  record();
  await Promise.all(recordings);
}

async function presign(
  uploading: Uploading,
  jobs: readonly Job[],
): Promise<readonly ((PresignedUpload & SignedUrl) | CadizError)[]> {
  const outcomes = await ask<PresignedUpload>(uploading, 'presign', jobs);
  return outcomes.map((outcome) => (outcome instanceof Error ? outcome : toSignedUrl(outcome)));
}

/** Asks about one file by itself, and about several with one request; each job gets to know the ticket that was used. */
function ask<T>(
  uploading: Uploading,
  route: Route,
  jobs: readonly Job[],
  secret?: string,
): Promise<readonly (T | CadizError)[]> {
  return together<Job, T>(jobs, async (jobs) => {
    const isFinal = route === 'record';
    const files = jobs.map(({ facts, folderId, extras, storeKey }) => ({
      ...facts,
      folderId,
      ...(isFinal && { ...extras, storeKey }),
    }));
    const [{ pace }] = jobs as [Job];
    const answered = await (jobs[1]
      ? uploading.post<T & Results<T>>(`${route}/batch`, { files }, { gate: pace.gate, secret, isFinal, verify })
      : uploading.post<T & Results<T>>(route, files[0] as object, { ...pace, secret, isFinal }));
    for (const job of jobs) job.secret = answered.secret;
    if (!jobs[1]) return [answered.answer];
    const outcomes = answered.answer.results.map(toOutcome);
    // A ticket that was not enough for all of them: the others with the next one.
    const left = jobs.filter((_, index) => isExhausted(outcomes[index]));
    const later = left[0] ? [...(await ask<T>(uploading, route, left))] : [];
    return outcomes.map((outcome) => (isExhausted(outcome) && later.shift()) || outcome);
  });
}

/** A ticket that is used up for all of a batch is refused like one that is used up for a single file. @throws CadizError */
function verify(answer: unknown): void {
  const outcomes = (answer as Results<unknown>).results.map(toOutcome);
  if (outcomes.every(isExhausted)) throw outcomes[0];
}

const toOutcome = <T>({ problem, upload, file }: Result<T>): T | CadizError =>
  problem ? toProblemError(problem) : ((upload ?? file) as T);

const isExhausted = (outcome: unknown) => (outcome as Partial<CadizError> | undefined)?.code === 'ticket_exhausted';

interface Results<T> {
  results: Result<T>[];
}

interface Result<T> {
  problem?: Problem;
  upload?: T;
  file?: T;
}
