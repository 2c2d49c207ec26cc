import { type BlobIndex, openBlobIndex } from './blob-index.ts';
import { Damaged } from './disk-error.ts';
import type { BucketRecord, Content, ObjectRecord } from './index-record.ts';
import { type Broken, type BrokenRecord, brokenRecord } from './index-table.ts';
import { type IndexTables, openIndexTables } from './index-tables.ts';
import { entryBytes } from './pack-entry.ts';
import { openPackIndex, type PackIndex } from './pack-index.ts';
import type { PackEntry } from './packs.ts';
import { type LetGo, openUploadIndex, rangeStart, type UploadIndex } from './upload-index.ts';

export interface Deletion {
  key: string;
  /** Whether the existing object is the one to be deleted; without it, any object is. Called in the transaction. */
  isMeant?(before: Content): boolean;
}

/** Decides in the transaction whether the existing object may be replaced; undefined if there is none. */
export type MayReplace = (before: Content | undefined) => boolean;

/** `changed`: the object is not the one that was meant. `absent`: one was meant, but there is none. */
export type DeleteOutcome = 'deleted' | 'changed' | 'absent';

export interface ListedObject {
  key: Buffer;
  record: ObjectRecord;
}

/**
 * The ordered index of all objects. Every write resolves when it is durable, and is not visible before. What the index knows of
 * blobs, packs and uploads changes in the same transaction as the object.
 */
export interface IndexDb {
  findBucket(bucket: string): BucketRecord | undefined;
  /** False if it already exists. */
  createBucket(bucket: string, record: BucketRecord): Promise<boolean>;
  /** All buckets, by name. */
  buckets(): { name: string; record: BucketRecord }[];
  /** False if there is no such bucket. */
  updateBucket(bucket: string, change: (record: BucketRecord) => BucketRecord): Promise<boolean>;
  /**
   * Deletes a bucket if it is empty, with its uploads under way; `removed` is what was released. `begun`: some of its uploads
   * are gone, so that others get their turn; call it again.
   */
  deleteBucket(bucket: string): Promise<{ outcome: 'deleted' | 'begun' | 'absent' | 'not-empty'; removed: LetGo[] }>;
  /** The name of an object in the index and in packs: bucket, NUL, key. */
  nameOf(bucket: string, key: string): Buffer;
  /** @throws Damaged if its record is broken */
  findObject(bucket: string, key: string): ObjectRecord | undefined;
  /** What a write would replace; for a broken record, only that it exists. */
  findContent(bucket: string, key: string): Content | undefined;
  /** The bytes of an object whose record says `inline`. */
  readInline(bucket: string, key: string): Buffer | undefined;
  /** How many objects have their bytes in the index. */
  countInline(): number;
  /** Some of the objects that have their bytes in the index, without broken ones, and the last name that was met. */
  inlineAfter(name: Uint8Array | undefined, limit: number): { objects: InlineObject[]; last: Buffer | undefined };
  /** The record of an object by its name in the index; nothing if that is broken. */
  findByName(name: Uint8Array): ObjectRecord | undefined;
  /**
   * `kept`: `mayReplace` said that nothing needs to change, and the object that stays. `removed` is what was released.
   * `entry` has the bytes of the object.
   *
   * @throws what `mayReplace` throws, which changes nothing
   */
  putObject(
    bucket: string,
    key: string,
    record: ObjectRecord,
    options?: { entry?: PackEntry; mayReplace?: MayReplace },
  ): Promise<{ outcome: 'stored' | 'kept' | 'no-bucket'; removed: LetGo[]; kept?: Content | undefined }>;
  /** All in one transaction, with an outcome for each, in order. An object that did not exist counts as deleted. */
  deleteObjects(
    bucket: string,
    deletions: readonly Deletion[],
  ): Promise<{ outcomes: DeleteOutcome[]; removed: LetGo[] }>;
  /** All in one transaction: bytes of objects are now in these entries, if the objects are still the same. */
  move(moves: readonly Move[]): Promise<LetGo[]>;
  packs: PackIndex;
  blobs: BlobIndex;
  uploads: UploadIndex;
  /** The objects of a bucket in the byte order of their keys, starting at `from`, without broken records. */
  objectsFrom(bucket: string, from: Uint8Array): Iterable<ListedObject>;
  /** The tables it is made of, for the journal. */
  tables: IndexTables;
  close(): Promise<void>;
}

/** An object that a version before packs has written. */
export interface InlineObject {
  name: Buffer;
  record: ObjectRecord;
  bytes: Buffer;
}

/** An object whose bytes have been copied. */
export interface Move {
  /** Bucket, NUL, key. */
  name: Buffer;
  entry: PackEntry;
  /** Whether the object still has the bytes that were copied. Called in the transaction. */
  isMeant(record: ObjectRecord): boolean;
}

const separator = Buffer.from([0]);

/** Stands for an object, a bucket or an upload whose record is broken: only that it exists is known. */
const unreadable: Content = { size: -1, etag: '' };

/** The index has the format of an older version, and may not be converted yet. */
export class OlderFormat extends Error {
  constructor() {
    super('An older version has used the object store, whose format is to stay as it is.');
    this.name = 'OlderFormat';
  }
}

export interface IndexOptions {
  onBroken?(broken: BrokenRecord): void;
  /** Leave an index with an older format as it is. */
  unchanged?: boolean;
  /** Whether an index with an older format may get that of this version, so that older versions refuse it; default: true */
  mayConvert?: boolean | undefined;
}

/**
 * Opens (or creates) the index in `folder`. The caller holds the lock on the data folder, and has checked the file.
 *
 * @throws OlderFormat, or Error if its format is unknown, or its own state cannot be read
 */
export async function openIndexDb(folder: string, options: IndexOptions = {}): Promise<IndexDb> {
  const { onBroken, unchanged, mayConvert = true } = options;
  const tables = await openIndexTables(folder, onBroken);
  try {
    if (!mayConvert && tables.isOlder()) throw new OlderFormat();
    if (!unchanged) await (tables.position().history === undefined ? tables.beginHistory(0) : tables.claim());
    return toIndexDb(tables);
  } catch (error) {
    await tables.close();
    throw error;
  }
}

function toIndexDb(tables: IndexTables): IndexDb {
  const { buckets, objects, inline, commit } = tables;
  const packs = openPackIndex(tables);
  const blobs = openBlobIndex(tables);

  /**
   * Returns what is released with an object. Nobody knows what a broken record refers to: its files stay, and
   * `verify` reports them.
   */
  function letGoContent(at: Buffer, before: ObjectRecord | Broken): LetGo[] {
    if (before === brokenRecord) {
      inline.remove(at);
      return [];
    }
    const { blob, packed, multipart } = before;
    if (before.inline) inline.remove(at);
    if (packed) {
      packs.change(packed.pack, { less: entryBytes(at, before.size) });
      return [{ pack: packed.pack }];
    }
    if (multipart) return uploads.removeParts(multipart.uploadId);
    return blob === undefined ? [] : [blobs.letGo(blob)];
  }

  function replaceObject(bucket: string, key: string, record: ObjectRecord): LetGo[] {
    const at = indexKey(bucket, Buffer.from(key));
    const before = objects.get(at);
    const removed = before ? letGoContent(at, before) : [];
    objects.put(at, record);
    if (record.blob !== undefined) blobs.hold(record.blob);
    if (record.packed) packs.change(record.packed.pack, { more: entryBytes(at, record.size) });
    return removed;
  }

  function deleteObject(bucket: string, { key, isMeant }: Deletion, removed: LetGo[]): DeleteOutcome {
    const at = indexKey(bucket, Buffer.from(key));
    const before = objects.get(at);
    if (!before) return isMeant ? 'absent' : 'deleted';
    if (isMeant && !isMeant(readable(before))) return 'changed';
    objects.remove(at);
    removed.push(...letGoContent(at, before));
    return 'deleted';
  }

  const get = (bucket: string, key: string) => objects.get(indexKey(bucket, Buffer.from(key)));
  const findContent = (bucket: string, key: string) => {
    const found = get(bucket, key);
    return found && readable(found);
  };
  const uploads = openUploadIndex({
    tables,
    blobs,
    findObject: (bucket, key) => {
      const found = get(bucket, key);
      return found === brokenRecord ? unreadable : found;
    },
    replaceObject,
  });

  return {
    findBucket: (bucket) => readableBucket(buckets.get(bucket)),
    createBucket: (bucket, record) =>
      commit(() => {
        if (buckets.has(bucket)) return false;
        buckets.put(bucket, record);
        return true;
      }),
    buckets: () => [...buckets.entries()].map(({ key, value }) => ({ name: key, record: readableBucket(value) })),
    updateBucket: (bucket, change) =>
      commit(() => {
        const record = readableBucket(buckets.get(bucket));
        if (record) buckets.put(bucket, change(record));
        return record !== undefined;
      }),
    deleteBucket: (bucket) =>
      commit(() => {
        if (!buckets.has(bucket)) return { outcome: 'absent', removed: [] };
        const range = { start: indexKey(bucket, Buffer.alloc(0)), end: Buffer.from(`${bucket}\x01`), limit: 1 };
        for (const _ of objects.keys(range)) return { outcome: 'not-empty', removed: [] };
        const { isAll, removed } = uploads.removeOfBucket(bucket);
        if (!isAll) return { outcome: 'begun', removed };
        buckets.remove(bucket);
        return { outcome: 'deleted', removed };
      }),
    nameOf: (bucket, key) => indexKey(bucket, Buffer.from(key)),
    findObject: (bucket, key) => {
      const found = get(bucket, key);
      if (found === brokenRecord) throw new Damaged();
      return found;
    },
    findContent,
    readInline: (bucket, key) => {
      const bytes = inline.get(indexKey(bucket, Buffer.from(key)));
      return bytes === brokenRecord ? undefined : bytes;
    },
    countInline: inline.count,
    inlineAfter: (name, limit) => {
      const range = name ? { start: name, exclusiveStart: true, limit } : { limit };
      const entries = [...inline.entries(range)];
      const found = entries.flatMap(({ key, value: bytes }) => {
        const record = objects.get(key);
        if (!record || record === brokenRecord || bytes === brokenRecord) return [];
        return [{ name: Buffer.from(key), record, bytes: Buffer.from(bytes) }];
      });
      const last = entries.at(-1);
      return { objects: found, last: last && Buffer.from(last.key) };
    },
    findByName: (name) => {
      const found = objects.get(name);
      return found === brokenRecord ? undefined : found;
    },
    move: (moves) =>
      commit(() =>
        moves.flatMap(({ name, entry, isMeant }) => {
          packs.change(entry.pack, { known: entry.decide() });
          const before = objects.get(name);
          if (!before || before === brokenRecord || !isMeant(before)) return [{ pack: entry.pack }];
          const { inline: _, packed: __, ...kept } = before;
          const removed = letGoContent(name, before);
          objects.put(name, { ...kept, packed: { pack: entry.pack, at: entry.at } });
          packs.change(entry.pack, { more: entry.length });
          return removed;
        }),
      ),
    putObject: (bucket, key, record, { entry, mayReplace } = {}) =>
      commit(() => {
        if (entry) packs.change(entry.pack, { known: entry.decide() });
        if (!buckets.has(bucket)) return { outcome: 'no-bucket', removed: [] };
        const before = findContent(bucket, key);
        if (mayReplace && !mayReplace(before)) return { outcome: 'kept', removed: [], kept: before };
        return { outcome: 'stored', removed: replaceObject(bucket, key, toPacked(record, entry)) };
      }),
    deleteObjects: (bucket, deletions) =>
      commit(() => {
        const removed: LetGo[] = [];
        const outcomes = deletions.map((deletion) => deleteObject(bucket, deletion, removed));
        return { outcomes, removed };
      }),
    packs,
    blobs,
    uploads,
    *objectsFrom(bucket, from) {
      const start = rangeStart(indexKey(bucket, from));
      const end = Buffer.concat([Buffer.from(bucket), Buffer.from([1])]);
      for (const { key, value } of objects.entries({ start, end })) {
        if (value !== brokenRecord) yield { key: Buffer.from(key.subarray(bucket.length + 1)), record: value };
      }
    },
    tables,
    close: tables.close,
  };
}

function toPacked(record: ObjectRecord, entry: PackEntry | undefined): ObjectRecord {
  return entry ? { ...record, packed: { pack: entry.pack, at: entry.at } } : record;
}

function readable(found: ObjectRecord | Broken): Content {
  return found === brokenRecord ? unreadable : found;
}

/** A bucket whose record is broken has lost its CORS rules and its age. */
function readableBucket(found: BucketRecord | Broken): BucketRecord;
function readableBucket(found: BucketRecord | Broken | undefined): BucketRecord | undefined;
function readableBucket(found: BucketRecord | Broken | undefined): BucketRecord | undefined {
  return found === brokenRecord ? { createdAt: 0 } : found;
}

/** Bucket names contain no NUL, so all keys of one bucket are adjacent, in the byte order of the keys themselves. */
function indexKey(bucket: string, key: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(bucket), separator, key]);
}
