import type { Readable } from 'node:stream';

/** What the service needs of an object store. Bytes of files pass through it only where a feature reads them. */
export interface ObjectStore {
  /**
   * An address that takes one PUT of exactly `sizeBytes` bytes, for the time that the settings give. With a SHA-256 (hex), a
   * store that verifies what an address says takes no other bytes.
   */
  presignPut(storeKey: string, sizeBytes: number, sha256?: string): string;
  /** An address that serves the object with this type and disposition, whatever it was stored with. */
  presignGet(storeKey: string, options: DownloadOptions): string;
  /** An address that takes the PUT of one part of exactly `sizeBytes` bytes, for the time that the settings give. */
  presignPart(storeKey: string, part: { uploadId: string; partNumber: number; sizeBytes: number }): string;

  /** Size and ETag (without its quotes) of an object, or undefined when there is none. Throws `store_unavailable`. */
  head(storeKey: string): Promise<ObjectFacts | undefined>;
  /** `head`, and the SHA-256 (hex) of the whole object where the store verified one at the upload. */
  headWithSha256(storeKey: string): Promise<(ObjectFacts & { sha256: string | undefined }) | undefined>;
  /**
   * Streams an object, or `length` bytes of it from `start`; `sizeBytes` is that of the whole object. Undefined when there
   * is none. Whoever asks must read the body to its end or destroy it. Throws `store_unavailable`, or the signal's reason;
   * a body that breaks off emits an error.
   */
  read(storeKey: string, options?: ReadOptions): Promise<(ObjectFacts & { body: Readable }) | undefined>;
  /** Up to 1000 objects under a prefix, after a key, in the byte order of UTF-8. Throws `store_unavailable`. */
  list(prefix: string, options?: { startAfter?: string; limit?: number }): Promise<ObjectPage>;
  /**
   * Removes objects, any number of them; what is absent counts as removed. Answers those that the store would not remove.
   * Throws `store_unavailable`.
   */
  remove(storeKeys: readonly string[]): Promise<{ storeKey: string; reason: string }[]>;

  /** Begins a multipart upload; returns the store's id of it. Throws `store_unavailable`. */
  createMultipart(storeKey: string): Promise<string>;
  /** Every part that has arrived, by its number; undefined when the store does not know the upload (any more). */
  listParts(storeKey: string, uploadId: string): Promise<StoredPart[] | undefined>;
  /**
   * Makes the object of these parts. `unknown`: the store does not know the upload (any more), which may have been
   * completed before. `refused`: a part is missing, is another one, or is too small; in the store's words.
   */
  completeMultipart(storeKey: string, uploadId: string, parts: readonly NamedPart[]): Promise<Completion>;
  /** Gives up a multipart upload and its parts; one that is not known (any more) is fine. */
  abortMultipart(storeKey: string, uploadId: string): Promise<void>;
  /** Up to 1000 multipart uploads under way. `next` goes into the options of the next call. */
  listMultiparts(prefix: string, options?: MultipartsOptions): Promise<MultipartsPage>;

  /** Makes the bucket when there is none. Throws an Error with a sentence for the operator. */
  prepare(): Promise<void>;
  /** Resolves when the store answers for the bucket, and throws `store_unavailable` otherwise. */
  check(): Promise<void>;
  close(): void;
}

export interface ObjectFacts {
  sizeBytes: number;
  /** without its quotes */
  etag: string;
}

export interface DownloadOptions {
  /** 1 to 604800 */
  expiresInSeconds: number;
  contentType: string;
  contentDisposition: string;
}

export interface ReadOptions {
  start?: number;
  length?: number;
  signal?: AbortSignal;
}

export interface ObjectPage {
  objects: (ObjectFacts & { storeKey: string; modifiedAt: Date })[];
  /** Whether more follow after the last of them. */
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
