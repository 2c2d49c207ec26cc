/** One invalid field of a request. */
export interface Issue {
  /** Such as `files.3.fileName`. */
  path: string;
  message: string;
}

/** What may be done with a key. */
export type Scope = 'files:read' | 'files:write' | 'files:delete';

/** Facts of your own about a file: at most 32 keys, 4 KiB as JSON. */
export type Metadata = Record<string, string | number | boolean>;

/** Who did something: an account, also one that has left since; an API key; or a ticket. */
export type By = { userId: string } | { apiKeyId: string } | { ticketId: string };

/** Folders, the outermost first. */
export type FolderPath = { id: string; name: string }[];

/** What is known of an image. */
export interface ImageFacts {
  /** Whether variants can be made of it; otherwise everything else is null. */
  state: 'ready' | 'unsupported' | 'too_large' | 'broken';
  /** In pixels, upright. */
  width: number | null;
  height: number | null;
  /** More than one for an animation. */
  frames: number | null;
  /** As its EXIF says, 1 to 8. Variants are upright. */
  orientation: number | null;
  hasAlpha: boolean | null;
  /** In the local time of the camera, such as `2026-08-01T12:00:00`. */
  takenAt: string | null;
  hasLocation: boolean | null;
  /** A ThumbHash in Base64, to show until the image is there. */
  thumbhash: string | null;
}

/** How an image is to be made; as WebP of its own size, unless these say otherwise. */
export interface ImageOptions {
  /** Pixels, at most 4096; with `h` alone, the proportions decide. With neither, the image keeps its size, up to 4096 a side. */
  w?: number | undefined;
  h?: number | undefined;
  /** `cover` fills both sides and cuts off the rest; the default. */
  fit?: 'cover' | 'contain' | 'inside' | undefined;
  /** What `cover` keeps: `center`, `attention`, or a point as fractions of the sides, such as `0.5,0.25`. */
  pos?: string | undefined;
  /** Quality, 1 to 100; 80 by default. */
  q?: number | undefined;
  /** `webp` by default; `auto` is what the browser accepts. */
  f?: 'auto' | 'webp' | 'avif' | 'jpeg' | 'png' | undefined;
  /** Multiplies both sides: 1 to 4. */
  dpr?: number | undefined;
  /** A preset of the project, in place of all others. */
  preset?: string | undefined;
}

/** A file that has been recorded. Times are ISO 8601 in UTC, sizes are bytes. */
export interface File {
  id: string;
  projectId: string;
  storeKey: string;
  fileName: string;
  fileSize: number;
  mimeType: string;
  /** `null` for the root of the project. */
  folderId: string | null;
  etag: string;
  /** The type that the first bytes show; null if they show none, or have not been examined yet. */
  detectedMimeType: string | null;
  /** Whether the first bytes are of the type in `mimeType`. */
  contentCheck: 'pending' | 'match' | 'mismatch' | 'unknown';
  /** In hex, if one was declared. */
  sha256: string | null;
  /** Whether the object has the declared SHA-256; `declared` until that is known. */
  sha256State: 'declared' | 'verified' | 'mismatch' | null;
  metadata: Metadata;
  externalId: string | null;
  /** The ticket that it was uploaded with. */
  ticketId: string | null;
  /** Null for what is no image, and until it has been looked at. */
  image: ImageFacts | null;
  /** Who recorded it; null if that is not known. */
  createdBy: By | null;
  createdAt: string;
  updatedAt: string;
}

/** A folder. Times are ISO 8601 in UTC. */
export interface Folder {
  id: string;
  projectId: string;
  name: string;
  parentId: string | null;
  /** Null if that is not known. */
  createdBy: By | null;
  createdAt: string;
  updatedAt: string;
}

/** A file of a listing. */
export interface ListedFile extends File {
  /** With `paths`: the folders that it is in; none for the root. */
  path?: FolderPath | undefined;
  /** With `thumbnail`: where it is, if it has been made; signed, for an hour at least. */
  thumbnailUrl?: string | undefined;
}

/** A folder of a listing. */
export interface ListedFolder extends Folder {
  /** With `paths`: the folders that it is in; none for the root. */
  path?: FolderPath | undefined;
  /** With `counts`: how many files and folders are directly in it; null for more than 10,000, or if they were not counted. */
  childCount?: number | null | undefined;
}

/** One page of a folder, or of a whole project. */
export interface Listing {
  files: ListedFile[];
  folders: ListedFolder[];
  /** From the root, whose id is null and whose name is the project's, to the folder that is listed. */
  breadcrumbs: { id: string | null; name: string }[];
  nextCursor: string | null;
  /** With `counts`: of all pages together; null for more than 10,000, or if they were not counted. */
  total?: number | null | undefined;
}

/** A problem document of the service (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  requestId: string;
  traceId?: string | undefined;
  issues?: Issue[] | undefined;
}

/** Where to PUT the bytes of a file, and what to record it by. */
export interface PresignedUpload {
  presignedUrl: string;
  storeKey: string;
}

/** An upload in parts that has just begun. */
export interface CreatedUpload {
  uploadId: string;
  storeKey: string;
  partSize: number;
  partCount: number;
  expiresAt: string;
}

/** An upload in parts that is under way. */
export interface Upload {
  uploadId: string;
  projectId: string;
  storeKey: string;
  fileName: string;
  fileSize: number;
  mimeType: string;
  folderId: string | null;
  partSize: number;
  partCount: number;
  createdAt: string;
  expiresAt: string;
  status: 'open' | 'stored' | 'completed';
  fileId: string | null;
  parts: { partNumber: number; etag: string; size: number }[];
}

/** Where to PUT the bytes of each part. */
export interface SignedParts {
  parts: { partNumber: number; presignedUrl: string }[];
}

/** How much: files, folders and the bytes of those files. */
export interface Counts {
  files: number;
  folders: number;
  bytes: number;
}

/** Files and folders by their ids. */
export interface Ids {
  fileIds?: string[] | undefined;
  folderIds?: string[] | undefined;
}

/** Everything directly in one place, or what a search of the whole project finds; also what no page has shown. */
export type Selection = (InPlace | InProject) & {
  /** Files and folders that are left out. */
  exceptIds?: string[] | undefined;
};

interface InPlace {
  /** A folder's id or path, or null for the root. */
  folder: string | null;
  /** Only what has this in its name. */
  search?: string | undefined;
}

interface InProject {
  folder?: undefined;
  /** What has this in its name, at any depth. */
  search: string;
}

/** What a call changes: files and folders by their ids, or a selection. */
export type Many = (Ids | { select: Selection }) & {
  /** Only count what would change. */
  dryRun?: boolean | undefined;
};

/** A change of more than a thousand files and folders, which goes on in the background. */
export interface Operation extends Counts {
  id: string;
  projectId: string;
  action: 'move' | 'delete' | 'restore';
  state: 'running' | 'finished' | 'cancelled' | 'failed';
  /** How many files and folders were selected, and how many of them are done. */
  total: number;
  done: number;
  /** Why it failed; what was done until then stays done. */
  problem: { code: string; detail: string } | null;
  createdBy: By | null;
  createdAt: string;
  finishedAt: string | null;
}

/** What changed if something could not go back to its old place under its old name. */
export interface Restored {
  movedToRoot: boolean;
  renamedFrom: string | null;
}

/** What was deleted, and until when it can be restored. */
export interface Trashed {
  id: string;
  deleted: true;
  restorableUntil: string;
}

/** A deleted file or folder, as it was deleted; a folder with how much is in it. */
export interface TrashEntry extends Counts {
  kind: 'file' | 'folder';
  id: string;
  name: string;
  parentId: string | null;
  /** The folders that it was in; none for the root, and if its folder is no longer there. */
  path: FolderPath;
  deletedAt: string;
  /** Null if that is not known. */
  deletedBy: By | null;
  restorableUntil: string;
}

/** How much is stored. Sizes are bytes. */
export interface Usage {
  fileCount: number;
  totalBytes: number;
  trashedBytes: number;
  /** Of images that were made; not counted in the quota. */
  variantBytes: number;
  quotaBytes: number | null;
}

/** A UTC day: the state at its end, and what was recorded on it. */
export interface UsageOfDay {
  /** `2027-01-31` */
  day: string;
  files: number;
  bytes: number;
  trashedBytes: number;
  uploads: number;
  addedBytes: number;
}

/** A signed URL that serves a file or an archive until it expires. */
export interface DownloadUrl {
  url: string;
  expiresAt: string;
}

/** What an API key can find out about itself. */
export interface OwnApiKey {
  id: string;
  name: string;
  projectId: string | null;
  folderId: string | null;
  scopes: Scope[];
  expiresAt: string | null;
}

/** An API key as its owner sees it. The key itself is shown once, when it is created. */
export interface ApiKey extends OwnApiKey {
  last4: string;
  keyHash: string;
  createdBy: { userId: string };
  createdAt: string;
  lastUsedAt: string | null;
  revokedAt: string | null;
}

/** A key that has just been created. */
export interface CreatedApiKey {
  id: string;
  name: string;
  /** `cz_live_…`; no other answer has it. */
  key: string;
  projectId: string | null;
  createdAt: string;
}

/** Files, bytes and folders of a ticket's budget. */
export interface Amounts {
  files: number;
  bytes: number;
  folders: number;
}

/** What a ticket can find out about itself. */
export interface OwnTicket {
  id: string;
  projectId: string;
  /** The folder that is its root; null for the project's. */
  folderId: string | null;
  maxFiles: number;
  maxBytes: number;
  maxFileSize: number | null;
  mimeTypes: string[] | null;
  /** Whether the service records what has arrived and nobody has recorded within a minute. */
  autoRecord: boolean;
  used: Amounts;
  left: Amounts;
  createdAt: string;
  expiresAt: string;
}

/** A ticket, with which a browser or a phone uploads without a key. */
export interface Ticket extends OwnTicket {
  origins: string[] | null;
  metadata: Metadata | null;
  createdBy: { userId: string } | { apiKeyId: string };
  revokedAt: string | null;
}

/** A ticket that has just been created. */
export interface CreatedTicket extends Ticket {
  /** `cz_ticket_…`; no other answer has it. */
  ticket: string;
}

/** What a ticket allows. */
export interface TicketOptions {
  /** Where it uploads to: a folder's id, or the path of one that exists, or null for the root; the default. */
  folder?: string | null | undefined;
  /** The same, by its id. */
  folderId?: string | null | undefined;
  maxFiles: number;
  /** Of all files together. */
  maxBytes: number;
  maxFileSize?: number | undefined;
  /** Such as `image/png`, or `image/*`. */
  mimeTypes?: string[] | undefined;
  /** Has the service record what arrives and nobody records within a minute. */
  autoRecord?: boolean | undefined;
  /** In seconds, from 60 to 86,400; 900 by default. */
  expiresIn?: number | undefined;
  /** The origins of the pages that may use it. */
  origins?: string[] | undefined;
  /** Given to every file that is uploaded with it. */
  metadata?: Metadata | undefined;
}

/** A URL of a file for the public, without a credential. */
export interface Link {
  id: string;
  projectId: string;
  /** Another one once the file has been replaced. */
  fileId: string;
  fileName: string;
  url: string;
  disposition: 'inline' | 'attachment';
  /** The form in which it serves an image; null for the file itself. */
  image: ImageOptions | null;
  /** `hidden`: the file is in the trash or in quarantine, and the link works again when it comes back. */
  state: 'active' | 'expired' | 'hidden';
  expiresAt: string | null;
  createdAt: string;
  createdBy: { userId?: string | undefined; apiKeyId?: string | undefined };
}

/** A ticket, as events tell of it. */
export interface TicketFacts {
  ticketId: string;
  folderId?: string | null | undefined;
  maxFiles?: number | undefined;
  maxBytes?: number | undefined;
  expiresAt?: string | undefined;
}

/** What a change of many was about. */
export interface BulkFacts extends Counts {
  /** The files that were named, without those in the folders. */
  fileIds: string[];
  folderIds: string[];
  /** The selection that took the place of ids. */
  select?: { folderId?: string | undefined; search?: string | undefined; exceptIds: string[] } | undefined;
  /** The operation, if it went on in the background. */
  operationId?: string | undefined;
}

/** What an event of each type says; those about access, which only owners see, say ids, names and counts. */
export interface EventData {
  'file.created': File;
  'file.updated': File & { changed: ('fileName' | 'folderId' | 'metadata' | 'externalId')[] };
  'file.replaced': File & { replacedFileId: string };
  'file.deleted': File;
  'file.restored': File;
  'file.purged': Pick<
    File,
    'id' | 'projectId' | 'storeKey' | 'fileName' | 'fileSize' | 'mimeType' | 'folderId' | 'externalId'
  >;
  'file.content_mismatch': File & { mismatch: 'type' | 'sha256' };
  'folder.created': Folder;
  'folder.updated': Folder & { changed: ('name' | 'parentId')[] };
  'folder.deleted': Folder & Counts;
  'folder.restored': Folder;
  'folder.purged': { id: string; projectId: string };
  'bulk.moved': BulkFacts & { folderId: string | null };
  'bulk.deleted': BulkFacts;
  'bulk.restored': BulkFacts;
  'trash.emptied': Counts;
  'upload.aborted': { id: string; projectId: string; storeKey: string; ticketId: string | null };
  'image.ready': File;
  'image.failed': File;
  'ticket.created': TicketFacts;
  'ticket.exhausted': TicketFacts;
  'ticket.revoked': TicketFacts;
  'ticket.expired': TicketFacts;
  'quota.reached': { percent: 80 | 100; storedBytes: number; quotaBytes: number };
  'link.created': {
    linkId: string;
    fileId: string;
    fileName: string;
    disposition?: string | undefined;
    expiresAt?: string | null | undefined;
  };
  'link.deleted': { linkId: string; fileId: string; fileName: string };
}

/** The types that only owners of the project see. */
export type AccessEventType =
  | `project.${'created' | 'updated'}`
  | `member.${'added' | 'changed' | 'removed'}`
  | `invitation.${'created' | 'removed'}`
  | `api_key.${'created' | 'rotated' | 'revoked'}`
  | `quarantine.${'created' | 'released' | 'trashed'}`
  | `webhook.${'created' | 'updated' | 'rotated' | 'deleted'}`;

/** The type of an event: what has happened to what. */
export type EventType = keyof EventData | AccessEventType;

/** An event of one type, and what is known of it. */
export interface EventOf<T extends EventType, D> {
  id: string;
  /** Its number in the project: 1, 2, 3 and so on, in the order of the changes. */
  seq: number;
  type: T;
  at: string;
  projectId: string;
  /** Null if it was the service itself. */
  actor: By | null;
  data: D;
}

/** Something that has happened in a project: of these types, or of any. */
export type Event<Of extends EventType = EventType> = {
  [T in Of]: EventOf<T, T extends keyof EventData ? EventData[T] : Record<string, unknown>>;
}[Of];

/** Events, and where to go on. */
export interface EventPage<Of extends EventType = EventType> {
  events: Event<Of>[];
  /** The `after` of the next request. */
  cursor: string;
}
