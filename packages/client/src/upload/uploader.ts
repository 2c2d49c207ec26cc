import { openResumeStore, usualConcurrency } from '#platform';
import type { CadizError } from '../error.ts';
import type { ResumeStore } from '../platform/platform.ts';
import { type ClientOptions, createSender, type Sender } from '../request.ts';
import { sleep, throwIfAborted, toCadizError } from '../retry.ts';
import type { File } from '../types.ts';
import { createFolderFinder, type FolderFinder, split } from './folders.ts';
import { createJob, type Followed, type Job, type Settled, type UploadOptions } from './job.ts';
import { uploadInParts } from './parts.ts';
import { createSlots } from './slots.ts';
import type { Uploadable } from './source.ts';
import { orThrow } from './together.ts';
import type { Uploading } from './transfer.ts';
import { uploadWhole } from './whole.ts';

/** How to reach the service, as whom, and how uploads go. */
export interface UploaderOptions extends ClientOptions {
  /** How many files, or parts of files, are sent at the same time; 4 in browsers and 8 elsewhere by default. */
  concurrency?: number | undefined;
  /** Files from this size in bytes on are uploaded in parts; 64 MiB by default. */
  partsFrom?: number | undefined;
  /** Where uploads in parts are remembered: in browsers IndexedDB; `resumeFile` of `@cadiz/client/node` makes one. */
  resume?: ResumeStore | undefined;
}

/** Uploads to one project. Everything but `upload` is for `createQueue` and `createClient`, and may change. */
export interface Uploader extends Uploading {
  /**
   * Uploads one file: in one piece, or from 64 MiB on in parts that survive a reload. Failures on the way are repeated.
   * It is recorded once, or not at all; after `signal` aborts while it is being recorded, it may still be recorded.
   *
   * @example
   * await cadiz.upload(file, { folder: 'holiday/2027', onProgress: ({ loaded, total }) => show(loaded / total) });
   * @throws CadizError
   */
  upload(file: Uploadable, options?: UploadOptions): Promise<File>;
  folders: FolderFinder;
  concurrency: number;
  partsFrom: number;
}

/**
 * Makes a client that uploads and does nothing else: a page that only uploads loads less than with `createClient`.
 *
 * @example
 * const { upload } = createUploader({ baseUrl: 'https://media.example.com', ticket: getTicket });
 * const file = await upload(photo, { folder: 'holiday/2027' });
 */
export function createUploader(
  options: UploaderOptions = {} as UploaderOptions,
  toFolders: (sender: Sender) => FolderFinder = createFolderFinder,
): Uploader {
  const { baseUrl, concurrency = usualConcurrency, partsFrom = 64 * 1024 ** 2 } = options;
  const sender = createSender(options);
  const uploader: Uploader = {
    ...sender,
    baseUrl,
    concurrency,
    partsFrom,
    slots: createSlots(concurrency),
    folders: toFolders(sender),
    resume: options.resume ?? openResumeStore(),
    async upload(file, upload) {
      const job = await createJob(file, upload ?? {});
      const settled = new Promise<Settled>((resolve, reject) => {
        uploadJobs(uploader, [job], { settle: (_, outcome) => resolve(outcome) }).catch(reject);
      });
      return orThrow(await settled);
    },
  };
  return uploader;
}

/** Whether a file is sent in parts. */
export const isLarge = ({ partsFrom }: Uploader, { size }: { size: number }): boolean => size > 0 && size >= partsFrom;

/** The store or the service has lost a file on the way, or a part of it: it is sent again. */
const losses: readonly string[] = ['upload_missing', 'upload_incomplete', 'upload_not_found'];

/** Uploads one large file, or at most a batch of small ones; once more if they were lost on the way. Never fails itself. */
export async function uploadJobs(
  uploader: Uploader,
  jobs: readonly Job[],
  followed: Followed,
  isAgain = false,
): Promise<void> {
  const { folders } = uploader;
  const lost: Job[] = [];
  function settle(job: Job, outcome: File | CadizError): void {
    const { options, finding } = job;
    const { code } = outcome as Partial<CadizError>;
    // A folder that is given by its path can be created anew.
    const isGone = code === 'folder_not_found' && split(options.folder).path;
    if (isAgain || !(isGone || losses.includes(code as string))) followed.settle(job, outcome);
    else lost.push(job);
    if (!isGone) return;
    folders.forget?.(options.folder, finding);
    job.begun = undefined;
  }

  const ready: Job[] = [];
  folders.prepare?.(jobs.map(({ options }) => options.folder));
  await Promise.all(
    jobs.map(async (job) => {
      try {
        throwIfAborted(job.options.signal);
        job.finding = folders.find(job.options.folder);
        job.folderId = await sleep(job.options.signal, job.finding);
        ready.push(job);
      } catch (error) {
        followed.settle(job, toCadizError(error));
      }
    }),
  );
  const [first] = ready;
  if (!first) return;
  if (isLarge(uploader, first.source)) {
    const outcome = await uploadInParts(uploader, first).catch(toCadizError);
    followed.sent?.(first);
    settle(first, outcome);
  } else await uploadWhole(uploader, ready, { ...followed, settle });
  if (lost[0]) await uploadJobs(uploader, lost, followed, true);
}
