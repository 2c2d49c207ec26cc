import { type Database, open, type RootDatabase } from 'lmdb';
import type { ObjectChecksum } from './checksum.ts';
import type { CorsRule } from './cors.ts';
import { namesEtag } from './etag.ts';
import { noSuchBucket } from './s3-error.ts';
import {
  type LetGo,
  type MadeOfParts,
  openUploadIndex,
  type PartRecord,
  rangeStart,
  type UploadIndex,
  type UploadRecord,
} from './upload-index.ts';
import { mayWrite, type WriteCondition } from './write-condition.ts';

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

export interface BucketRecord {
  createdAt: number;
  /** Who may read answers in a browser, where the bucket says so itself. */
  cors?: CorsRule[];
}

export interface Deletion {
  key: string;
  /** the value of If-Match */
  ifMatch?: string;
}

/** `changed` and `absent` are answers to If-Match. */
export type DeleteOutcome = 'deleted' | 'changed' | 'absent';

export interface ListedObject {
  key: Buffer;
  record: ObjectRecord;
}

/**
 * The ordered index of all objects. Every write resolves when it is durable, and nothing is visible before it is.
 *
 * Beside the objects it knows every blob that an object refers to (so that a start can tell an abandoned blob without
 * reading all objects), and the blobs that no object refers to any more but whose file may still be there ("doomed"):
 * both change in the one transaction that changes the object.
 */
export interface IndexDb {
  findBucket(bucket: string): BucketRecord | undefined;
  /** False when it was there already. */
  createBucket(bucket: string, record: BucketRecord): Promise<boolean>;
  /** All buckets, by name. */
  buckets(): { name: string; record: BucketRecord }[];
  /** False when there is no such bucket. */
  updateBucket(bucket: string, change: (record: BucketRecord) => BucketRecord): Promise<boolean>;
  /** Only an empty bucket goes, and its uploads under way with it; `removed` is what was let go. */
  deleteBucket(bucket: string): Promise<{ outcome: 'deleted' | 'absent' | 'not-empty'; removed: LetGo[] }>;
  findObject(bucket: string, key: string): ObjectRecord | undefined;
  /** The bytes of an object whose record says `inline`. */
  readInline(bucket: string, key: string): Buffer | undefined;
  /** How many objects have their bytes in the index. */
  countInline(): number;
  /**
   * The condition is judged in the transaction. `stored` is false when it says that nothing is to be changed; `removed` is
   * what was let go. `bytes` go with a record that says `inline`.
   *
   * @throws S3Error NoSuchBucket, PreconditionFailed, NoSuchKey
   */
  putObject(
    bucket: string,
    key: string,
    record: ObjectRecord,
    condition: WriteCondition,
    bytes?: Buffer,
  ): Promise<{ stored: boolean; removed: LetGo[] }>;
  /** All in one transaction; an outcome for each, in order. An object that was not there counts as deleted. */
  deleteObjects(
    bucket: string,
    deletions: readonly Deletion[],
  ): Promise<{ outcomes: DeleteOutcome[]; removed: LetGo[] }>;
  uploads: UploadIndex;
  /** Objects of a bucket in the byte order of their keys, from the first key that is not below `from`. */
  objectsFrom(bucket: string, from: Uint8Array): Iterable<ListedObject>;
  hasBlob(blob: string): boolean;
  /** How many blobs objects and parts refer to. */
  countBlobs(): number;
  isDoomed(blob: string): boolean;
  doomedBlobs(): string[];
  /** To be called when the files of these blobs are gone for good. */
  forgetDoomed(blobs: readonly string[]): Promise<void>;
  /** The oldest generation of blobs that may still hold abandoned ones. */
  readOpenGeneration(): number;
  writeOpenGeneration(generation: number): Promise<void>;
  close(): Promise<void>;
}

/** 2 has `inline`. A folder is of format 1 until it has its first such object, and older versions refuse it from then on. */
const FORMATS = [1, 2];
const FIRST_FORMAT = 1;
const INLINE_FORMAT = 2;
const SEPARATOR = Buffer.from([0]);

/** Opens (or makes) the index in `folder`. The caller holds the lock on the folder. */
export async function openIndexDb(folder: string): Promise<IndexDb> {
  // Without overlappingSync a commit is synced before it becomes visible and before its promise resolves, so that no
  // reader, and no answer, ever sees what a power cut could take back. Writes that arrive during a sync share the next.
  const root = open({
    path: folder,
    noSubdir: false,
    overlappingSync: false,
    // All writes are transactions here. With batching, lmdb makes a promise of its own for each event turn, which nobody
    // can catch when a commit fails: a full disk would end the process.
    eventTurnBatching: false,
    maxDbs: 16,
    encoding: 'json',
  });
  const meta = root.openDB<number, string>({ name: 'meta', encoding: 'json' });
  const buckets = root.openDB<BucketRecord, string>({ name: 'buckets', encoding: 'json' });
  const objects = root.openDB<ObjectRecord, Uint8Array>({ name: 'objects', encoding: 'json', keyEncoding: 'binary' });
  // Apart from the records, so that a listing does not step over them.
  const inline = root.openDB<Buffer, Uint8Array>({ name: 'inline', encoding: 'binary', keyEncoding: 'binary' });
  const blobs = root.openDB<true, string>({ name: 'blobs', encoding: 'json' });
  const doomed = root.openDB<true, string>({ name: 'doomed', encoding: 'json' });
  const uploads = root.openDB<UploadRecord, Uint8Array>({ name: 'uploads', encoding: 'json', keyEncoding: 'binary' });
  const parts = root.openDB<PartRecord, string>({ name: 'parts', encoding: 'json' });
  const doomedUploads = root.openDB<true, string>({ name: 'doomed uploads', encoding: 'json' });
  const commit = groupCommits(root);
  await requireFormat(commit, meta);

  function letGo(blob: string): string {
    blobs.remove(blob);
    doomed.put(blob, true);
    return blob;
  }

  /** Tells what goes with an object. */
  function letGoContent(at: Buffer, { blob, multipart, ...before }: ObjectRecord): LetGo[] {
    if (before.inline) inline.remove(at);
    if (!multipart) return blob === undefined ? [] : [blob].map(letGo);
    return uploadIndex.removeParts(multipart.uploadId);
  }

  function replaceObject(bucket: string, key: string, record: ObjectRecord, bytes?: Buffer): LetGo[] {
    const at = indexKey(bucket, Buffer.from(key));
    const before = objects.get(at);
    const removed = before ? letGoContent(at, before) : [];
    objects.put(at, record);
    if (record.blob !== undefined) blobs.put(record.blob, true);
    if (bytes) {
      inline.put(at, bytes);
      if (meta.get('format') !== INLINE_FORMAT) meta.put('format', INLINE_FORMAT);
    }
    return removed;
  }

  function deleteObject(bucket: string, { key, ifMatch }: Deletion, removed: LetGo[]): DeleteOutcome {
    const at = indexKey(bucket, Buffer.from(key));
    const before = objects.get(at);
    if (!before) return ifMatch === undefined ? 'deleted' : 'absent';
    if (ifMatch !== undefined && !namesEtag(ifMatch, before.etag, 'strong')) return 'changed';
    objects.remove(at);
    removed.push(...letGoContent(at, before));
    return 'deleted';
  }

  const uploadIndex = openUploadIndex({
    uploads,
    parts,
    doomedUploads,
    commit,
    hasBucket: (bucket) => buckets.doesExist(bucket),
    findObject: (bucket, key) => objects.get(indexKey(bucket, Buffer.from(key))),
    replaceObject,
    referTo: (blob) => blobs.put(blob, true),
    letGo,
  });

  return {
    findBucket: (bucket) => buckets.get(bucket),
    createBucket: (bucket, record) =>
      commit(() => {
        if (buckets.doesExist(bucket)) return false;
        buckets.put(bucket, record);
        return true;
      }),
    buckets: () => [...buckets.getRange()].map(({ key, value }) => ({ name: key, record: value })),
    updateBucket: (bucket, change) =>
      commit(() => {
        const record = buckets.get(bucket);
        if (record) buckets.put(bucket, change(record));
        return record !== undefined;
      }),
    deleteBucket: (bucket) =>
      commit(() => {
        if (!buckets.doesExist(bucket)) return { outcome: 'absent', removed: [] };
        const range = { start: indexKey(bucket, Buffer.alloc(0)), end: Buffer.from(`${bucket}\x01`), limit: 1 };
        for (const _ of objects.getKeys(range)) return { outcome: 'not-empty', removed: [] };
        buckets.remove(bucket);
        return { outcome: 'deleted', removed: uploadIndex.removeOfBucket(bucket) };
      }),
    findObject: (bucket, key) => objects.get(indexKey(bucket, Buffer.from(key))),
    readInline: (bucket, key) => inline.get(indexKey(bucket, Buffer.from(key))),
    countInline: () => inline.getKeysCount(),
    putObject: (bucket, key, record, condition, bytes) =>
      commit(() => {
        if (!buckets.doesExist(bucket)) throw noSuchBucket(bucket);
        const stored = mayWrite(condition, objects.get(indexKey(bucket, Buffer.from(key))), record);
        return { stored, removed: stored ? replaceObject(bucket, key, record, bytes) : [] };
      }),
    deleteObjects: (bucket, deletions) =>
      commit(() => {
        const removed: LetGo[] = [];
        const outcomes = deletions.map((deletion) => deleteObject(bucket, deletion, removed));
        return { outcomes, removed };
      }),
    uploads: uploadIndex,
    *objectsFrom(bucket, from) {
      const start = rangeStart(indexKey(bucket, from));
      const end = Buffer.concat([Buffer.from(bucket), Buffer.from([1])]);
      for (const { key, value } of objects.getRange({ start, end })) {
        yield { key: Buffer.from(key.subarray(bucket.length + 1)), record: value };
      }
    },
    hasBlob: (blob) => blobs.doesExist(blob),
    countBlobs: () => blobs.getKeysCount(),
    isDoomed: (blob) => doomed.doesExist(blob),
    doomedBlobs: () => [...doomed.getKeys()],
    forgetDoomed: (gone) =>
      commit(() => {
        for (const blob of gone) doomed.remove(blob);
      }),
    readOpenGeneration: () => meta.get('openGeneration') ?? 0,
    writeOpenGeneration: (generation) =>
      commit(() => {
        meta.put('openGeneration', generation);
      }),
    close: () => root.close(),
  };
}

/** Bucket names hold no NUL, so all keys of one bucket lie together, in the byte order of the keys themselves. */
function indexKey(bucket: string, key: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(bucket), SEPARATOR, key]);
}

async function requireFormat(commit: Commit, meta: Database<number, string>): Promise<void> {
  const format = meta.get('format');
  if (format === undefined) {
    await commit(() => {
      meta.put('format', FIRST_FORMAT);
    });
  } else if (!FORMATS.includes(format)) {
    const readable = FORMATS.join(' and ');
    throw new Error(`The data folder has format ${format}, this version of the store reads the formats ${readable}.`);
  }
}

type Commit = <T>(change: () => T) => Promise<T>;

interface Queued {
  run(): void;
  settle(failure?: { error: unknown }): void;
}

/**
 * Runs each change in a transaction, and resolves with its result when that is durable. Changes that come while one
 * transaction is being synced share the next.
 *
 * There is one transaction at a time. lmdb can queue them itself, but when a commit fails (a full disk) it now and then
 * never settles the promise of one that was queued behind: a request, and then the close, would hang.
 */
function groupCommits(root: RootDatabase): Commit {
  let queue: Queued[] = [];
  let committing = false;

  async function commitAll(): Promise<void> {
    committing = true;
    while (queue.length > 0) {
      const group = queue;
      queue = [];
      const failure = await commitGroup(root, group);
      for (const { settle } of group) settle(failure);
    }
    committing = false;
  }

  return <T>(change: () => T) =>
    new Promise<T>((resolve, reject) => {
      let result: { value: T } | { error: unknown };
      queue.push({
        run: () => {
          result = attempt(change);
        },
        settle: (failure) => {
          if (failure) reject(failure.error);
          else if ('error' in result) reject(result.error);
          else resolve(result.value);
        },
      });
      if (!committing) void commitAll();
    });
}

function attempt<T>(change: () => T): { value: T } | { error: unknown } {
  try {
    return { value: change() };
  } catch (error) {
    return { error };
  }
}

async function commitGroup(root: RootDatabase, group: readonly Queued[]): Promise<{ error: unknown } | undefined> {
  try {
    await root.transaction(() => {
      for (const { run } of group) run();
    });
    return undefined;
  } catch (error) {
    return { error: await commitCause(error) };
  }
}

/** lmdb rejects with a general error whose `commitError` is a promise that rejects with the cause, such as ENOSPC. */
async function commitCause(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error;
  try {
    await error.commitError;
    return error;
  } catch (cause) {
    return cause;
  }
}
