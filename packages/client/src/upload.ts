export { CadizError, type ClientErrorCode, isCadizError } from './error.ts';
export type { ErrorCode } from './error-codes.ts';
export type { Resumable, ResumeStore } from './platform/platform.ts';
export type { GrantedTicket, Secret } from './request.ts';
export type { File, Metadata } from './types.ts';
export type { Progress, UploadOptions } from './upload/job.ts';
export {
  createQueue,
  type QueuedUpload,
  type QueueEntry,
  type QueueSnapshot,
  type UploadQueue,
  type UploadState,
} from './upload/queue.ts';
export type { Source, Uploadable } from './upload/source.ts';
export { createUploader, type Uploader, type UploaderOptions } from './upload/uploader.ts';
