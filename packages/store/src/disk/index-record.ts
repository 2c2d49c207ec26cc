import type { Checksum, ChecksumAlgorithm, ChecksumType, ObjectChecksum } from './checksum.ts';

/** What the index keeps of one object. Sizes in bytes, times in Unix milliseconds, `etag` without its quotes. */
export interface ObjectRecord {
  size: number;
  etag: string;
  /** What holds the bytes; absent where the index or the parts of a multipart upload do. */
  blob?: string;
  /** The index itself holds the bytes. */
  inline?: true;
  multipart?: MadeOfParts;
  lastModified: number;
  /** Content headers by their lower-case name, as they were sent. */
  headers: Record<string, string>;
  /** User metadata by its name without `x-amz-meta-`. */
  metadata: Record<string, string>;
  /** The one that was sent with the bytes, and found right. */
  checksum?: ObjectChecksum;
}

/** What a write would find or leave: enough of an object to judge by. */
export interface Content {
  size: number;
  etag: string;
}

export interface BucketRecord {
  createdAt: number;
  /** Who may read answers in a browser, where the bucket says so itself. */
  cors?: CorsRule[];
}

/** One rule of a bucket's CORS configuration ("CORSRule" in the Amazon S3 API reference). */
export interface CorsRule {
  id?: string;
  /** with at most one `*` each */
  allowedOrigins: string[];
  allowedMethods: string[];
  /** with at most one `*` each */
  allowedHeaders: string[];
  exposeHeaders: string[];
  maxAgeSeconds?: number;
}

/** A multipart upload under way. Times in Unix milliseconds. */
export interface UploadRecord {
  initiatedAt: number;
  /** What the object will have; see ObjectRecord. */
  headers: Record<string, string>;
  metadata: Record<string, string>;
  /** What the object's checksum will be; all parts have one of this algorithm. */
  checksum?: { algorithm: ChecksumAlgorithm; type: ChecksumType };
}

/** One part of an upload, or of an object that was made of one. `etag` is the hex MD5 of its bytes. */
export interface PartRecord {
  blob: string;
  size: number;
  etag: string;
  lastModified: number;
  checksum?: Checksum;
}

/** How an object is made of the parts of an upload, which the index keeps under the upload's id. */
export interface MadeOfParts {
  uploadId: string;
  /** how many they are */
  parts: number;
  /** What each but the last has, where they are all alike and numbered from 1: then any byte is found without a search. */
  partBytes?: number;
}
