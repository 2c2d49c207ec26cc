import type { Readable } from 'node:stream';
import type { Trace } from '../telemetry/trace.ts';

/**
 * The operations that the service needs from an object store. File bytes pass through it only where a feature reads
 * them.
 */
export interface ObjectStore {
  /**
   * A URL that accepts one PUT of exactly `sizeBytes` bytes, for the lifetime from the settings unless another is
   * given. With a SHA-256 (hex), a store that verifies checksums in URLs accepts no other bytes.
   */
  presignPut(storeKey: string, sizeBytes: number, sha256?: string, expiresInSeconds?: number): string;
  /** A URL that serves the object with this type and disposition, whatever it was stored with. */
  presignGet(storeKey: string, options: DownloadOptions): string;
  /** Like `presignGet` and `presignPut`, for a process beside the service: at the URL by which that reaches the store. */
  presignOwnGet(storeKey: string, expiresInSeconds: number): string;
  presignOwnPut(storeKey: string, sizeBytes: number, expiresInSeconds: number): string;
  /** `presignPut` for one part of an upload. */
  presignPart(storeKey: string, part: SignedPart): string;

  /** Size and ETag (without its quotes) of an object, or undefined if there is none. Throws `store_unavailable`. */
  head(storeKey: string): Promise<ObjectFacts | undefined>;
  /** `head`, and the SHA-256 (hex) of the whole object if the store verified one at the upload. */
  headWithSha256(storeKey: string): Promise<(ObjectFacts & { sha256: string | undefined }) | undefined>;
  /**
   * `head`, and the first bytes of the object, up to `length`: with one request, unless the object is empty. Throws
   * `store_unavailable`.
   */
  peek(storeKey: string, length: number): Promise<PeekedObject | undefined>;
  /**
   * Streams an object, or `length` bytes of it from `start`; `sizeBytes` is the size of the whole object. Undefined if
   * there is none. The caller must read the body to its end or destroy it. Throws `store_unavailable`, or the signal's
   * reason; a body that breaks off emits an error.
   */
  read(storeKey: string, options?: ReadOptions): Promise<(ObjectFacts & { body: Readable }) | undefined>;
  /**
   * Copies an object that still has this ETag to another key, within the store. Answers the facts of the copy; undefined
   * if there is no such object. Throws `store_unavailable`; then there may be a copy or not.
   */
  copy(sourceKey: string, storeKey: string, source: ObjectFacts): Promise<ObjectFacts | undefined>;
  /**
   * Stores an object of up to 5 GiB with one request, in place of one under the same key. Answers its ETag. Throws
   * `store_unavailable`, also if the bytes are not those announced.
   */
  put(storeKey: string, content: Content): Promise<string>;
  /** Up to 1000 objects under a prefix, after a key, in the byte order of UTF-8. Throws `store_unavailable`. */
  list(prefix: string, options?: { startAfter?: string; limit?: number }): Promise<ObjectPage>;
  /**
   * Removes any number of objects; absent ones count as removed. Returns those that the store did not remove. Throws
   * `store_unavailable`.
   */
  remove(storeKeys: readonly string[]): Promise<{ storeKey: string; reason: string }[]>;

  /** Starts a multipart upload; returns the store's id for it. Throws `store_unavailable`. */
  createMultipart(storeKey: string): Promise<string>;
  /** Stores one part of a multipart upload. Answers its ETag. Throws `store_unavailable`. */
  putPart(storeKey: string, part: { uploadId: string; partNumber: number }, content: Content): Promise<string>;
  /** Every part that has arrived, by number; undefined if the store does not know the upload (any more). */
  listParts(storeKey: string, uploadId: string): Promise<StoredPart[] | undefined>;
  /**
   * Joins these parts into the object. `unknown`: the store does not know the upload (any more); it may have been
   * completed before. `refused`: a part is missing, differs or is too small, in the store's words.
   */
  completeMultipart(storeKey: string, uploadId: string, parts: readonly NamedPart[]): Promise<Completion>;
  /**
   * Aborts a multipart upload and removes its parts; succeeds also if the store does not know the upload (any more).
   */
  abortMultipart(storeKey: string, uploadId: string): Promise<void>;
  /** Up to 1000 multipart uploads in progress. Pass `next` in the options of the next call. */
  listMultiparts(prefix: string, options?: MultipartsOptions): Promise<MultipartsPage>;

  /** Creates the bucket if there is none. Throws an Error with a sentence for the operator. */
  prepare(): Promise<void>;
  /** Resolves if the store answers for the bucket, and throws `store_unavailable` otherwise. */
  check(): Promise<void>;
  /** What is wrong with the clocks of this machine and of the store, as of the last check, although it answers. */
  clockWarning(): string | undefined;
  /** The same store, whose requests belong to a trace: they carry it, and each is a span if it is recorded. */
  within(trace: Trace): ObjectStore;
  close(): void;
}

export interface SignedPart {
  uploadId: string;
  partNumber: number;
  sizeBytes: number;
  /** By default as long as the settings say. */
  expiresInSeconds?: number | undefined;
}

/** Bytes to be stored. */
export interface Content {
  /** Opened again if the request has to be repeated. */
  open(): Readable;
  sizeBytes: number;
  /** in hex */
  sha256: string;
}

export interface ObjectFacts {
  sizeBytes: number;
  /** without its quotes */
  etag: string;
}

export interface PeekedObject extends ObjectFacts {
  /** `length` bytes, or all if the object has fewer. */
  firstBytes: Buffer;
}

export interface DownloadOptions {
  /** 1 to 604800, counted from `signedAt` */
  expiresInSeconds: number;
  contentType: string;
  contentDisposition: string;
  /** GET by default; a URL is good for one method only. */
  method?: 'GET' | 'HEAD';
  /** When its lifetime begins (Unix milliseconds); now by default. The same facts signed at the same time make the same URL. */
  signedAt?: number;
  /** Who may cache the object: only its recipient by default. */
  cachedBy?: 'private' | 'public';
}

export interface ReadOptions {
  start?: number;
  length?: number;
  signal?: AbortSignal;
}

export interface ObjectPage {
  objects: (ObjectFacts & { storeKey: string; modifiedAt: Date })[];
  /** Whether more objects follow the last one. */
  more: boolean;
}

export interface NamedPart {
  partNumber: number;
  /** with or without its quotes */
  etag: string;
}

export interface StoredPart extends ObjectFacts {
  partNumber: number;
}

export type Completion = 'completed' | 'unknown' | { refused: string };

export interface MultipartsMarkers {
  keyMarker?: string;
  uploadIdMarker?: string;
}

export interface MultipartsOptions extends MultipartsMarkers {
  limit?: number;
}

export interface MultipartsPage {
  uploads: { storeKey: string; uploadId: string; startedAt: Date }[];
  next: MultipartsMarkers | undefined;
}
