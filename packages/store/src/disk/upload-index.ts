import type { BlobIndex } from './blob-index.ts';
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
 * What a change released: a blob, something in a pack, or the parts of an upload, if there are too many to release at once.
 * Only `letGoParts` can reach those from then on.
 */
export type LetGo = string | { pack: string } | { partsOf: string };

/** Fields that a broken record lacks are absent. */
export type FoundObject = Content & Partial<ObjectRecord>;

/** What is known in the transaction that completes an upload. */
export interface UploadState {
  /** Absent if there is no such upload (any more). */
  upload: UploadRecord | undefined;
  /** The object that has the upload's key now; for a broken record, only that it exists. */
  before: FoundObject | undefined;
  findPart(partNumber: number): PartRecord | undefined;
}

/** The object that an upload becomes, and the parts it keeps. Without a record, the upload ends and becomes nothing. */
export interface Assembled {
  record: ObjectRecord | undefined;
  partNumbers: ReadonlySet<number>;
}

/**
 * The multipart uploads under way, and the parts of uploads and of objects. A part stays in place when its upload is
 * completed: the object's record then names the upload, so an upload of any size becomes an object with few writes.
 *
 * Every method that writes resolves once that is durable. `removed` is what was released.
 */
export interface UploadIndex {
  /** False if there is no such bucket. */
  create(name: UploadName, record: UploadRecord): Promise<boolean>;
  /** @throws Damaged if its record is broken */
  find(name: UploadName): UploadRecord | undefined;
  /**
   * The uploads of a bucket, without broken records, in the byte order of their keys and by age for each key; from
   * a key on, or from a position made by `uploadPosition`.
   */
  listFrom(bucket: string, from: Uint8Array): Iterable<ListedUpload>;
  /** Parts by their number. @throws Damaged at a part whose record is broken */
  partsFrom(uploadId: string, partNumber: number): Iterable<ListedPart>;
  /** Leaves out parts whose records are broken: completing the upload requires sending them again. */
  soundPartsFrom(uploadId: string, partNumber: number): Iterable<ListedPart>;
  /** Replaces a part with the same number. Not stored if there is no such upload (any more). */
  putPart(name: UploadName, partNumber: number, part: PartRecord): Promise<{ stored: boolean; removed: LetGo[] }>;
  /**
   * Makes the object. `assemble` runs in the transaction: if it throws, the completion is refused and nothing changes;
   * if it returns undefined, the object has already been made.
   */
  complete(name: UploadName, assemble: (state: UploadState) => Assembled | undefined): Promise<LetGo[]>;
  /** What was released, or undefined if there is no such upload. */
  abort(name: UploadName): Promise<LetGo[] | undefined>;
  /** Uploads with parts that are still to be released. */
  doomedUploads(): string[];
  /** Releases some of their parts, and returns the blobs; none if no parts are left. */
  letGoParts(uploadId: string): Promise<string[]>;
  /** Within a transaction: releases the parts of an object. */
  removeParts(uploadId: string): LetGo[];
  /** Within a transaction: aborts some uploads of a bucket that is being deleted; `isAll` if none are left. */
  removeOfBucket(bucket: string): { isAll: boolean; removed: LetGo[] };
}

/** What the index shares with its uploads. All of it is called within a transaction. */
export interface UploadIndexParts {
  tables: Pick<IndexTables, 'buckets' | 'uploads' | 'parts' | 'doomedUploads' | 'commit' | 'transaction'>;
  blobs: Pick<BlobIndex, 'hold' | 'letGo'>;
  findObject(bucket: string, key: string): FoundObject | undefined;
  /** Replaces what was there by an object, and returns what was released. */
  replaceObject(bucket: string, key: string, record: ObjectRecord): LetGo[];
}

/** How many parts a transaction releases: 10,000 would block the thread for a tenth of a second. */
const partsOfATurn = 200;
/** How many uploads a transaction aborts: 100,000 would block the thread for two seconds. */
const uploadsOfATurn = 500;
// Longer than any key of the index, and short enough for lmdb, which accepts no longer keys, not even to search for.
const maxStartBytes = 1500;

export function openUploadIndex(index: UploadIndexParts): UploadIndex {
  const { buckets, uploads, parts, doomedUploads, commit, transaction } = index.tables;
  /** The latest transaction that has released the parts of objects, and how many it has released. */
  let released = { transaction: 0, parts: 0 };

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
      return part && part !== brokenRecord ? [index.blobs.letGo(part.blob)] : [];
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

  /** Only the keys of kept parts are read: there may be 10,000. */
  function removeUnused(uploadId: string, kept: ReadonlySet<number>): string[] {
    return removeEach([...keysOf(uploadId)].filter((key) => !kept.has(Number(key.slice(uploadId.length + 1)))));
  }

  function removeParts(uploadId: string): LetGo[] {
    if (released.transaction !== transaction()) released = { transaction: transaction(), parts: 0 };
    const left = partsOfATurn - released.parts;
    const keys = [...keysOf(uploadId, left + 1)];
    if (keys.length > left) {
      doomedUploads.put(uploadId, true);
      return [{ partsOf: uploadId }];
    }
    released.parts += keys.length;
    return removeEach(keys);
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
        index.blobs.hold(part.blob);
        return { stored: true, removed: before ? [index.blobs.letGo(before.blob)] : [] };
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
      const gone = [...uploads.keys({ ...rangeOf(bucket, Buffer.alloc(0)), limit: uploadsOfATurn })];
      const removed = gone.flatMap((key) => {
        uploads.remove(key);
        return removeParts(uploadIdOf(key));
      });
      return { isAll: gone.length < uploadsOfATurn, removed };
    },
  };
}

/** The parts of an object that hold its bytes from `offset` on, perhaps after some before it, and where each starts. */
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

/** Keys contain no NUL, so uploads are in the order of their keys. */
function uploadKey({ bucket, key, uploadId }: UploadName): Buffer {
  return Buffer.from(`${bucket}\0${key}\0${uploadId}`);
}

function uploadIdOf(uploadKey: Uint8Array): string {
  return Buffer.from(uploadKey.subarray(uploadKey.lastIndexOf(0) + 1)).toString();
}

/**
 * Where a listing starts, cut to the length that lmdb accepts: no key of the index is between the requested position
 * and this one.
 */
export function rangeStart(position: Buffer): Buffer {
  return position.subarray(0, maxStartBytes);
}

/** Where the uploads of a key continue after one of them. */
export function uploadPosition(key: string, afterUploadId: string): Buffer {
  return Buffer.from(`${key}\0${afterUploadId}\0`);
}

function partKey(uploadId: string, partNumber: number): string {
  return `${uploadId}/${String(partNumber).padStart(5, '0')}`;
}
