import type { ResumeStore } from '../platform/platform.ts';
import { throwIfAborted, toCadizError } from '../retry.ts';
import { type FolderFinder, isPath } from './folders.ts';
import type { Followed, Job, Settled } from './job.ts';
import { uploadInParts } from './parts.ts';
import type { Uploading } from './transfer.ts';
import { uploadWhole } from './whole.ts';

export interface Uploader extends Uploading {
  folders: FolderFinder;
  resume: ResumeStore | undefined;
  /** Files from this size on are sent in parts. */
  partsFrom: number;
}

/** Whether a file is sent in parts. */
export const isLarge = ({ partsFrom }: Uploader, { size }: { size: number }): boolean => size > 0 && size >= partsFrom;

/**
 * Uploads one large file, or at most a batch of small ones. A folder that was given by its path, and deleted after it was
 * found, is created anew. Never fails itself.
 */
export async function uploadJobs(uploader: Uploader, jobs: readonly Job[], followed: Followed): Promise<void> {
  const lost: Job[] = [];
  await uploadOnce(uploader, jobs, {
    ...followed,
    settle(job, outcome) {
      if (isFolderGone(outcome) && isPath(job.options.folder)) lost.push(job);
      else followed.settle(job, outcome);
    },
  });
  if (lost.length === 0) return;
  for (const { folderId } of lost) uploader.folders.forget(folderId);
  await uploadOnce(uploader, lost, followed);
}

const isFolderGone = (outcome: Settled) => outcome instanceof Error && outcome.code === 'folder_not_found';

async function uploadOnce(uploader: Uploader, jobs: readonly Job[], followed: Followed): Promise<void> {
  const { folders, resume } = uploader;
  folders.prepare(jobs.map(({ options }) => options.folder ?? ''));
  const ready: Job[] = [];
  await Promise.all(
    jobs.map(async (job) => {
      try {
        throwIfAborted(job.options.signal);
        job.folderId = await folders.find(job.options.folder);
        ready.push(job);
      } catch (error) {
        followed.settle(job, toCadizError(error));
      }
    }),
  );
  const [first] = ready;
  if (!first) return;
  if (!isLarge(uploader, first.source)) return uploadWhole(uploader, ready, followed);
  const outcome = await uploadInParts(uploader, first, resume).catch(toCadizError);
  followed.sent?.(first);
  followed.settle(first, outcome);
}
