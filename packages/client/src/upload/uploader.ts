import { openResumeStore } from '#platform';
import type { ResumeStore } from '../platform/platform.ts';
import { throwIfAborted, toCadizError } from '../retry.ts';
import type { FolderFinder } from './folders.ts';
import { isGone } from './folders.ts';
import type { Followed, Job, Settled } from './job.ts';
import { partsFrom, uploadInParts } from './parts.ts';
import type { Uploading } from './transfer.ts';
import { uploadWhole } from './whole.ts';

export interface Uploader extends Uploading {
  folders: FolderFinder;
  resume: ResumeStore | undefined;
}

export const isLarge = ({ size }: { size: number }): boolean => size >= partsFrom;

export const openStore = (given: ResumeStore | undefined): ResumeStore | undefined => given ?? openResumeStore();

/** Uploads one large file, or at most a batch of small ones. Never fails itself. */
export async function uploadJobs(uploader: Uploader, jobs: readonly Job[], { sent, settle }: Followed): Promise<void> {
  const gone: Job[] = [];
  const settleOnce = (isLast: boolean) => (job: Job, outcome: Settled) => {
    if (!isLast && isGone(outcome, job.options.folder)) gone.push(job);
    else settle(job, outcome);
  };
  await attempt(uploader, jobs, { sent, settle: settleOnce(false) });
  // A folder that was found by its path has been deleted since: it is created again, once.
  for (const { options } of gone) uploader.folders.forget(options.folder ?? '');
  if (gone.length > 0) await attempt(uploader, gone, { sent, settle: settleOnce(true) });
}

async function attempt(uploader: Uploader, jobs: readonly Job[], followed: Followed): Promise<void> {
  uploader.folders.prepare(jobs.map(({ options }) => options.folder ?? ''));
  const ready: Job[] = [];
  await Promise.all(
    jobs.map(async (job) => {
      try {
        throwIfAborted(job.options.signal);
        job.folderId = await uploader.folders.find(job.options.folder);
        ready.push(job);
      } catch (error) {
        followed.settle(job, toCadizError(error));
      }
    }),
  );
  const [first] = ready;
  if (!first) return;
  if (!isLarge(first.source)) return uploadWhole(uploader, ready, followed);
  const outcome = await uploadInParts(uploader, first, uploader.resume).catch(toCadizError);
  followed.sent?.(first);
  followed.settle(first, outcome);
}
