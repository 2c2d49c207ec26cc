export {
  type Client,
  type ClientRequest,
  createClient,
  type EventOptions,
  type FollowOptions,
  type ListOptions,
  type ListPageOptions,
  type Page,
  type PageOptions,
  type UrlOptions,
} from './client.ts';
export { CadizError, type ClientErrorCode, isCadizError } from './error.ts';
export type { ErrorCode } from './error-codes.ts';
export { imageUrl, srcset } from './images.ts';
export type { Following } from './operation.ts';
export type { Resumable, ResumeStore } from './platform/platform.ts';
export type { ClientOptions, GrantedTicket, Secret } from './request.ts';
export { createTicketHandler, type TicketHandlerOptions } from './ticket-handler.ts';
export type * from './types.ts';
export type { Progress, UploadOptions } from './upload/job.ts';
export type { QueuedUpload, QueueEntry, QueueSnapshot, UploadQueue, UploadState } from './upload/queue.ts';
export type { Source, Uploadable } from './upload/source.ts';
export type { UploaderOptions as CadizOptions } from './upload/uploader.ts';
