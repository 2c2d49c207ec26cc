import { toSha256 } from '#platform';
import { type CadizError, invalid, safely, unreadable } from '../error.ts';
import type { Resumable } from '../platform/platform.ts';
import { type Gate, type Pace, throwIfAborted } from '../retry.ts';
import type { File, Metadata } from '../types.ts';
import type { Finding } from './folders.ts';
import { type Source, toSource, type Uploadable } from './source.ts';

/** How far an upload has come, in bytes. Never less than before. */
export interface Progress {
  loaded: number;
  total: number;
}

/** Where a file goes, what is known of it, and how it is sent. */
export interface UploadOptions {
  /**
   * The folder to upload to: its id, or its path, such as `press/2027`, which is created if it is missing. With a slash
   * before it, it is a path even if a folder is named like an id.
   */
  folder?: string | null | undefined;
  /** The name of the file; `file.name` by default. */
  name?: string | undefined;
  /** The media type; `file.type` by default, and `application/octet-stream` where that is empty. */
  type?: string | undefined;
  /** Facts of your own about the file, to be read back and searched for. */
  metadata?: Metadata | undefined;
  /** Your own id of the file, unique within the project. */
  externalId?: string | undefined;
  /** The id of the file that this one takes the place of: its name, folder, metadata and links. */
  replaces?: string | undefined;
  /** What it throws is shown on the console; the upload goes on. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Ends the upload with the error `aborted`. */
  signal?: AbortSignal | undefined;
  /**
   * `true`: the SHA-256 of the file is computed and sent, so that the store refuses other bytes. In a browser the file is
   * read into memory for that. A string is its SHA-256 in hex.
   */
  checksum?: boolean | string | undefined;
  /** The size of the parts of a large file in bytes, from 5 MiB; the service chooses by default. */
  partSize?: number | undefined;
  /** How many parts of a large file are sent at the same time. */
  concurrency?: number | undefined;
}

/** Why an upload is aborted that is to go on later: what has arrived of it stays. */
export const paused = Symbol('paused');

/** Why a file cannot be sent any more that has changed: what has arrived of it is of no use. */
export const changed = 'changed';

/** One file on its way. */
export interface Job {
  source: Source;
  facts: { fileName: string; mimeType: string; fileSize: number; sha256: string | undefined };
  /** What is told when it is recorded. */
  extras: object;
  options: UploadOptions;
  folderId: string | null;
  /** What has found that folder, or is about to. */
  finding?: Finding;
  /** Its name in the store, once its bytes are there. */
  storeKey?: string;
  /** The ticket that it was presigned with. */
  secret?: string | undefined;
  pace: Pace;
  /** Its upload in parts, once that has begun. */
  begun?: Resumable | undefined;
  /** Removes what has arrived of that. Never rejects. */
  remove?: () => Promise<unknown>;
  /** Reports how many of its bytes have been sent. */
  report(loaded: number): void;
}

/** The file that came of a job, or why it did not. */
export type Settled = File | CadizError;

/** What is told of each job. */
export interface Followed {
  /** Its bytes have arrived, or never will. */
  sent?: ((job: Job) => void) | undefined;
  /** Called once. */
  settle: (job: Job, outcome: Settled) => void;
}

/** @throws CadizError aborted, invalid_argument, file_unreadable */
export async function createJob(file: Uploadable, options: UploadOptions, gate?: Gate): Promise<Job> {
  const { checksum, onProgress, metadata, externalId, replaces, signal } = options;
  throwIfAborted(signal);
  try {
    const source = await toSource(file, signal);
    const fileName = options.name ?? source.name;
    if (!fileName) throw invalid('Give a name: the file has none.');
    const sha256 = checksum === true ? await toSha256(source, signal) : checksum || undefined;
    const mimeType = options.type || source.type || 'application/octet-stream';
    const total = source.size;
    let shown = -1;
    return {
      source,
      facts: { fileName, mimeType, fileSize: total, sha256 },
      extras: { metadata, externalId, replaces },
      options,
      folderId: null,
      pace: { signal, gate },
      report(loaded) {
        if (loaded <= shown) return;
        shown = loaded;
        safely(() => onProgress?.({ loaded, total }));
      },
    };
  } catch (error) {
    throwIfAborted(signal);
    return unreadable(error);
  }
}
