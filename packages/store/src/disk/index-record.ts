import type { Checksum, ChecksumAlgorithm, ChecksumType, ObjectChecksum } from './checksum.ts';
import type { Packed } from './pack-entry.ts';

/** The index record of one object. Sizes in bytes, times in Unix milliseconds, `etag` without quotes. */
export interface ObjectRecord {
  size: number;
  etag: string;
  /** The blob with the bytes; absent if a pack, the index or the parts of a multipart upload have them. */
  blob?: string;
  /** The pack with the bytes. */
  packed?: Packed;
  /** The index itself has the bytes: written by versions before packs. */
  inline?: true;
  multipart?: MadeOfParts;
  lastModified: number;
  /** Content headers by lower-case name, as they were sent. */
  headers: Record<string, string>;
  /** User metadata by name without `x-amz-meta-`. */
  metadata: Record<string, string>;
  /** The checksum that was sent with the bytes, and verified. */
  checksum?: ObjectChecksum;
}

/** What a write would find or leave: as much of an object as its conditions need. */
export interface Content {
  size: number;
  etag: string;
  checksum?: ObjectChecksum;
}

export interface BucketRecord {
  createdAt: number;
  /** Which origins may read answers in a browser, if the bucket has its own rules. */
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
  /** What the object's checksum will be; all parts have one with this algorithm. */
  checksum?: { algorithm: ChecksumAlgorithm; type: ChecksumType };
}

/** One part of an upload, or of an object made from one. `fixityOf` says how its bytes can be checked. */
export interface PartRecord {
  blob: string;
  size: number;
  etag: string;
  lastModified: number;
  checksum?: Checksum;
}

/** What the index knows of a pack. */
export interface PackRecord {
  /** The length of all entries that objects refer to. */
  liveBytes: number;
  /** Up to here, every entry is either referred to, or was and never will be again. */
  knownBytes: number;
}

/** How an object is made of the parts of an upload, which the index keeps under the upload's id. */
export interface MadeOfParts {
  uploadId: string;
  /** how many parts there are */
  parts: number;
  /**
   * The size of all parts but the last, if they have the same size and are numbered from 1: any byte is then found
   * without a search.
   */
  partBytes?: number;
}
