import { Damaged } from './disk-error.ts';
import type { Content, MadeOfParts, ObjectRecord, PartRecord, UploadRecord } from './index-record.ts';
import { type Broken, brokenRecord } from './index-table.ts';
import type { IndexTables } from './index-tables.ts';

export interface ListedPart extends PartRecord {
  partNumber: number;
}

export interface ListedUpload {
  key: Buffer;
  uploadId: string;
  record: UploadRecord;
}

export interface UploadName {
  bucket: string;
  key: string;
  uploadId: string;
}

/**
 * What a change let go: a blob, or the parts of an upload that has too many to let go in one turn. Nothing but
 * `letGoParts` reaches those any more.
 */
export type LetGo = string | { partsOf: string };

/** What a broken record lacks is absent. */
export type FoundObject = Content & Partial<ObjectRecord>;

/** What is known in the transaction that completes an upload. */
export interface UploadState {
  /** Absent when there is no such upload (any more). */
  upload: UploadRecord | undefined;
  /** The object that has the upload's key now; of a broken record only that it is there. */
  before: FoundObject | undefined;
  findPart(partNumber: number): PartRecord | undefined;
}

/** The object that an upload becomes, and the parts that it keeps. Without a record the upload goes, and becomes nothing. */
export interface Assembled {
  record: ObjectRecord | undefined;
  partNumbers: ReadonlySet<number>;
}

/**
 * The multipart uploads under way, and the parts of uploads and of objects. A part stays where it is when its upload is
 * completed: the object's record then names the upload, so that an upload of any size becomes an object by few writes.
 *
 * Every method that writes resolves when that is durable. `removed` is what was let go.
 */
export interface UploadIndex {
  /** False when there is no such bucket. */
  create(name: UploadName, record: UploadRecord): Promise<boolean>;
  /** @throws Damaged when its record is broken */
  find(name: UploadName): UploadRecord | undefined;
  /** Uploads of a bucket, but for broken records, by the byte order of their keys, those of one key by their age; from a key on or a position as `uploadPosition` makes it. */
  listFrom(bucket: string, from: Uint8Array): Iterable<ListedUpload>;
  /** Parts by their number. @throws Damaged at one whose record is broken */
  partsFrom(uploadId: string, partNumber: number): Iterable<ListedPart>;
  /** Leaves parts out whose records are broken: whoever completes the upload sends them again. */
  soundPartsFrom(uploadId: string, partNumber: number): Iterable<ListedPart>;
  /** A part of the same number is replaced. Not stored when there is no such upload (any more). */
  putPart(name: UploadName, partNumber: number, part: PartRecord): Promise<{ stored: boolean; removed: LetGo[] }>;
  /**
   * Makes the object. `assemble` runs in the transaction; what it throws refuses the completion and changes nothing, and
   * undefined says that the object has been made already.
   */
  complete(name: UploadName, assemble: (state: UploadState) => Assembled | undefined): Promise<LetGo[]>;
  /** What was let go, or undefined when there is no such upload. */
  abort(name: UploadName): Promise<LetGo[] | undefined>;
  /** Uploads of which parts are still to be let go. */
  doomedUploads(): string[];
  /** Lets some of their parts go, and tells the blobs; none when there are no more. */
  letGoParts(uploadId: string): Promise<string[]>;
  /** Within a transaction: lets the parts of an object go. */
  removeParts(uploadId: string): LetGo[];
  /** Within a transaction: aborts all uploads of a bucket that goes. */
  removeOfBucket(bucket: string): LetGo[];
}

/** What the index shares with its uploads. All of it is called within a transaction. */
export interface UploadIndexParts {
  tables: Pick<IndexTables, 'buckets' | 'uploads' | 'parts' | 'doomedUploads' | 'blobs' | 'commit'>;
  findObject(bucket: string, key: string): FoundObject | undefined;
  /** Puts an object in the place of what was there, and tells what was let go. */
  replaceObject(bucket: string, key: string, record: ObjectRecord): LetGo[];
  /** Tells the blob again. */
  letGo(blob: string): string;
}

/** So many parts are let go in one turn: with 10,000 the thread would stand still for a tenth of a second. */
const partsOfATurn = 200;
// Longer than any key of the index, and short enough for lmdb, which takes no longer ones, not even to look for.
const maxStartBytes = 1500;

export function openUploadIndex(index: UploadIndexParts): UploadIndex {
  const { buckets, uploads, parts, doomedUploads, blobs, commit } = index.tables;

  function* allPartsFrom(
    uploadId: string,
    partNumber: number,
  ): Generator<{ partNumber: number; part: PartRecord | Broken }> {
    for (const { key, value } of parts.entries({ start: partKey(uploadId, partNumber), end: `${uploadId}/~` })) {
      yield { partNumber: Number(key.slice(uploadId.length + 1)), part: value };
    }
  }

  function* partsFrom(uploadId: string, from: number): Generator<ListedPart> {
    for (const { partNumber, part } of allPartsFrom(uploadId, from)) {
      if (part === brokenRecord) throw new Damaged();
      yield { partNumber, ...part };
    }
  }

  function* soundPartsFrom(uploadId: string, from: number): Generator<ListedPart> {
    for (const { partNumber, part } of allPartsFrom(uploadId, from)) {
      if (part !== brokenRecord) yield { partNumber, ...part };
    }
  }

  const rangeOf = (bucket: string, from: Uint8Array) => ({
    start: rangeStart(Buffer.concat([Buffer.from(`${bucket}\0`), from])),
    end: Buffer.from(`${bucket}\x01`),
  });

  function* listFrom(bucket: string, from: Uint8Array): Generator<ListedUpload> {
    for (const { key, value } of uploads.entries(rangeOf(bucket, from))) {
      const end = key.lastIndexOf(0);
      if (value === brokenRecord) continue;
      yield { key: Buffer.from(key.subarray(bucket.length + 1, end)), uploadId: uploadIdOf(key), record: value };
    }
  }

  const keysOf = (uploadId: string, limit?: number) =>
    parts.keys({ start: `${uploadId}/`, end: `${uploadId}/~`, ...(limit !== undefined && { limit }) });

  function removeEach(keys: readonly string[]): string[] {
    return keys.flatMap((key) => {
      const part = parts.get(key);
      parts.remove(key);
      return part && part !== brokenRecord ? [index.letGo(part.blob)] : [];
    });
  }

  function find(name: UploadName): UploadRecord | undefined {
    const record = uploads.get(uploadKey(name));
    if (record === brokenRecord) throw new Damaged('The record of this upload');
    return record;
  }

  function findPart(uploadId: string, partNumber: number): PartRecord | undefined {
    const part = parts.get(partKey(uploadId, partNumber));
    return part === brokenRecord ? undefined : part;
  }

  /** Only the keys are read of parts that are kept: there may be 10,000. */
  function removeUnused(uploadId: string, kept: ReadonlySet<number>): string[] {
    return removeEach([...keysOf(uploadId)].filter((key) => !kept.has(Number(key.slice(uploadId.length + 1)))));
  }

  function removeParts(uploadId: string): LetGo[] {
    const keys = [...keysOf(uploadId, partsOfATurn + 1)];
    if (keys.length <= partsOfATurn) return removeEach(keys);
    doomedUploads.put(uploadId, true);
    return [{ partsOf: uploadId }];
  }

  return {
    create: (name, record) =>
      commit(() => {
        if (!buckets.has(name.bucket)) return false;
        uploads.put(uploadKey(name), record);
        return true;
      }),
    find,
    listFrom,
    partsFrom,
    soundPartsFrom,
    putPart: (name, partNumber, part) =>
      commit(() => {
        if (!uploads.has(uploadKey(name))) return { stored: false, removed: [] };
        const before = findPart(name.uploadId, partNumber);
        parts.put(partKey(name.uploadId, partNumber), part);
        blobs.put(part.blob, true);
        return { stored: true, removed: before ? [index.letGo(before.blob)] : [] };
      }),
    complete: (name, assemble) =>
      commit(() => {
        const { bucket, key, uploadId } = name;
        const assembled = assemble({
          upload: find(name),
          before: index.findObject(bucket, key),
          findPart: (partNumber) => findPart(uploadId, partNumber),
        });
        if (!assembled) return [];
        uploads.remove(uploadKey(name));
        const unused = removeUnused(uploadId, assembled.partNumbers);
        return assembled.record ? [...unused, ...index.replaceObject(bucket, key, assembled.record)] : unused;
      }),
    abort: (name) =>
      commit(() => {
        if (!uploads.has(uploadKey(name))) return undefined;
        uploads.remove(uploadKey(name));
        return removeParts(name.uploadId);
      }),
    doomedUploads: () => [...doomedUploads.keys()],
    letGoParts: (uploadId) =>
      commit(() => {
        const keys = [...keysOf(uploadId, partsOfATurn)];
        if (keys.length < partsOfATurn) doomedUploads.remove(uploadId);
        return removeEach(keys);
      }),
    removeParts,
    removeOfBucket: (bucket) => {
      const gone = [...uploads.keys(rangeOf(bucket, Buffer.alloc(0)))];
      return gone.flatMap((key) => {
        uploads.remove(key);
        return removeParts(uploadIdOf(key));
      });
    },
  };
}

/** The parts of an object that hold its bytes from `offset` on, perhaps after some before it, and where each begins. */
export function* partsAt(
  uploads: UploadIndex,
  { uploadId, parts, partBytes }: MadeOfParts,
  offset: number,
): Generator<ListedPart & { begin: number }> {
  const skipped = partBytes === undefined ? 0 : Math.min(Math.floor(offset / partBytes), parts - 1);
  let begin = skipped * (partBytes ?? 0);
  for (const part of uploads.partsFrom(uploadId, skipped + 1)) {
    yield { ...part, begin };
    begin += part.size;
  }
}

/** Keys hold no NUL, so that uploads lie in the order of their keys. */
function uploadKey({ bucket, key, uploadId }: UploadName): Buffer {
  return Buffer.from(`${bucket}\0${key}\0${uploadId}`);
}

function uploadIdOf(uploadKey: Uint8Array): string {
  return Buffer.from(uploadKey.subarray(uploadKey.lastIndexOf(0) + 1)).toString();
}

/** Where a listing begins, cut to what lmdb takes: no key of the index lies between what was asked for and that. */
export function rangeStart(position: Buffer): Buffer {
  return position.subarray(0, maxStartBytes);
}

/** Where the uploads of a key go on after one of them. */
export function uploadPosition(key: string, afterUploadId: string): Buffer {
  return Buffer.from(`${key}\0${afterUploadId}\0`);
}

function partKey(uploadId: string, partNumber: number): string {
  return `${uploadId}/${String(partNumber).padStart(5, '0')}`;
}
