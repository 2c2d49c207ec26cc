import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { open, type RootDatabase } from 'lmdb';
import type { BucketRecord, ObjectRecord, PartRecord, UploadRecord } from './index-record.ts';
import {
  type BrokenRecord,
  brokenRecord,
  bytesToBytes,
  bytesToJson,
  type Change,
  openTable,
  type Table,
  type TableForm,
  textToJson,
} from './index-table.ts';

/** Which index this is, and how far it has come: of two with one history the one with the lower sequence is the older. */
export interface Position {
  /** Changes with every rebuild; absent until a version that keeps a journal has opened the folder. */
  history: string | undefined;
  /** How many transactions have changed something. */
  sequence: number;
}

/** What a transaction has done. */
export interface Committed {
  sequence: number;
  changes: readonly Change[];
  /** What was there already, and was asked for by `retell`; in the state before or amid these changes. */
  retold: readonly Change[];
}

/** Learns of every transaction, in order, once it is durable. The writes in it are answered when this has resolved; it never rejects. */
export type Follower = (committed: Committed) => Promise<void>;

export interface Retelling {
  goesOn(): boolean;
  broken: 'skip' | 'refuse';
}

/** The tables of the index, and the transactions that change them. */
export interface IndexTables {
  buckets: Table<string, BucketRecord>;
  objects: Table<Uint8Array, ObjectRecord>;
  /** The bytes of small objects: apart from the records, so that a listing does not step over them. */
  inline: Table<Uint8Array, Buffer>;
  /** Every blob that an object or a part refers to. Not told to the follower: the others say the same. */
  blobs: Table<string, true>;
  doomed: Table<string, true>;
  uploads: Table<Uint8Array, UploadRecord>;
  parts: Table<string, PartRecord>;
  doomedUploads: Table<string, true>;
  /** What the index knows of itself, untold as well. */
  meta: Table<string, number | string>;
  /** Runs the change in a transaction; resolves with its result when that is durable. */
  commit<T>(change: () => T): Promise<T>;
  /** @throws Error when it cannot be read */
  position(): Position;
  /** Begins a history of its own at this sequence. Older versions refuse the folder from then on. */
  beginHistory(sequence: number): Promise<void>;
  follow(follower: Follower): void;
  /**
   * Tells the follower everything there is, a little at a time and others in between. False when `goesOn` said no.
   *
   * @throws Error at a broken record, unless these are to be skipped
   */
  retell(options: Retelling): Promise<boolean>;
  /** Within a transaction: makes a change that a follower was told. */
  apply(change: Change): void;
  close(): Promise<void>;
}

/** 2 had small objects in it, 3 has checksums and a journal. */
const knownFormats = [1, 2, 3];
const ownFormat = 3;
/** So many entries, or bytes of small objects, are retold in one transaction: about a millisecond. */
const retoldEntries = 200;
const retoldBytes = 256 * 1024;

/**
 * Opens (or makes) the tables in `folder`.
 *
 * @throws Error when the format is another
 */
export async function openIndexTables(
  folder: string,
  onBroken: (broken: BrokenRecord) => void = () => undefined,
): Promise<IndexTables> {
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
    encoding: 'binary',
  });
  const committer = groupCommits(root, { readSequence, writeSequence });

  function openNamed<K extends string | Uint8Array, V>(
    name: string,
    form: TableForm<K, V>,
    onChange = committer.onChange,
  ): Table<K, V> {
    const binaryKeys = typeof form.fromText('') === 'string' ? {} : { keyEncoding: 'binary' as const };
    const database = root.openDB<Buffer, K>({ name, encoding: 'binary', ...binaryKeys });
    return openTable(database, name, form, { onChange, onBroken });
  }

  const untold = () => undefined;
  const meta = openNamed('meta', textToJson<number | string>(), untold);
  const told = {
    buckets: openNamed('buckets', textToJson<BucketRecord>({ createdAt: 'number' })),
    objects: openNamed(
      'objects',
      bytesToJson<ObjectRecord>({
        size: 'number',
        etag: 'text',
        lastModified: 'number',
        headers: 'object',
        metadata: 'object',
      }),
    ),
    inline: openNamed('inline', bytesToBytes),
    doomed: openNamed('doomed', textToJson<true>()),
    uploads: openNamed(
      'uploads',
      bytesToJson<UploadRecord>({ initiatedAt: 'number', headers: 'object', metadata: 'object' }),
    ),
    parts: openNamed(
      'parts',
      textToJson<PartRecord>({ blob: 'text', size: 'number', etag: 'text', lastModified: 'number' }),
    ),
    doomedUploads: openNamed('doomed uploads', textToJson<true>()),
  };
  const blobs = openNamed('blobs', textToJson<true>(), untold);
  const appliers = new Map<string, (change: Change) => void>();
  for (const { name, apply } of Object.values(told)) appliers.set(name, apply);
  requireFormat(meta.get('format'));

  function readNumber(name: string): number {
    const value = meta.get(name) ?? 0;
    if (typeof value === 'number') return value;
    throw new Error(`The index cannot tell its ${name}.`);
  }

  function readSequence(): number {
    return readNumber('sequence');
  }

  function writeSequence(sequence: number): void {
    meta.put('sequence', sequence);
  }

  /** Tells where to go on, or undefined at the end. */
  function retellSome<K extends string | Uint8Array, V>(
    table: Table<K, V>,
    after: K | undefined,
    broken: Retelling['broken'],
  ): K | undefined {
    let left = retoldEntries;
    let leftBytes = retoldBytes;
    const range = after === undefined ? {} : { start: after, exclusiveStart: true };
    for (const { key, value } of table.entries(range)) {
      if (value !== brokenRecord) committer.retell(table.toChange(key, value));
      else if (broken === 'refuse')
        throw new Error('A record of the index is broken, and the journal may still have it.');
      left -= 1;
      leftBytes -= value instanceof Uint8Array ? value.length : 0;
      if (left <= 0 || leftBytes <= 0) return key;
    }
    return undefined;
  }

  async function retellTable<K extends string | Uint8Array, V>(
    table: Table<K, V>,
    { goesOn, broken }: Retelling,
  ): Promise<boolean> {
    let after: K | undefined;
    do {
      if (!goesOn()) return false;
      const begun = performance.now();
      after = await committer.commit(() => retellSome(table, after, broken));
      // At most half of the time is taken from those who wait for their writes.
      await delay(performance.now() - begun);
    } while (after !== undefined);
    return goesOn();
  }

  const retell = async (options: Retelling) =>
    (await retellTable(told.buckets, options)) &&
    (await retellTable(told.objects, options)) &&
    (await retellTable(told.inline, options)) &&
    (await retellTable(told.doomed, options)) &&
    (await retellTable(told.uploads, options)) &&
    (await retellTable(told.parts, options)) &&
    (await retellTable(told.doomedUploads, options));

  return {
    ...told,
    blobs,
    meta,
    commit: committer.commit,
    position: () => {
      const history = meta.get('history');
      if (history === brokenRecord) throw new Error('The index cannot tell its history.');
      return { history: history === undefined ? undefined : String(history), sequence: readSequence() };
    },
    beginHistory: (sequence) =>
      committer.commit(() => {
        meta.put('format', ownFormat);
        meta.put('history', randomBytes(16).toString('hex'));
        writeSequence(sequence);
      }),
    follow: committer.follow,
    retell,
    apply: (change) => appliers.get(change[0])?.(change),
    close: () => root.close(),
  };
}

function requireFormat(format: unknown): void {
  if (format === undefined || knownFormats.some((known) => known === format)) return;
  const readable = knownFormats.join(', ');
  throw new Error(`The index has format ${String(format)}, this version of the store reads the formats ${readable}.`);
}

interface Queued {
  run(): void;
  settle(failure?: { error: unknown }): void;
}

interface Committer {
  commit<T>(change: () => T): Promise<T>;
  follow(follower: Follower): void;
  onChange(change: Change): void;
  retell(change: Change): void;
}

/**
 * Runs each change in a transaction, and resolves with its result when that is durable. Changes that come while one
 * transaction is being synced share the next.
 *
 * There is one transaction at a time. lmdb can queue them itself, but when a commit fails (a full disk) it now and then
 * never settles the promise of one that was queued behind: a request, and then the close, would hang.
 */
function groupCommits(
  root: RootDatabase,
  { readSequence, writeSequence }: { readSequence(): number; writeSequence(sequence: number): void },
): Committer {
  let queue: Queued[] = [];
  let committing = false;
  let follower: Follower | undefined;
  /** Of the one transaction there is. */
  let changes: Change[] = [];
  let retold: Change[] = [];

  async function commitAll(): Promise<void> {
    committing = true;
    while (queue.length > 0) {
      const group = queue;
      queue = [];
      const outcome = await commitGroup(group);
      const settleAll = () => {
        for (const { settle } of group) settle('error' in outcome ? outcome : undefined);
      };
      // The next transaction does not wait for the follower, only the answers do.
      if ('error' in outcome || !follower) settleAll();
      else void follower(outcome).then(settleAll);
    }
    committing = false;
  }

  async function commitGroup(group: readonly Queued[]): Promise<Committed | { error: unknown }> {
    changes = [];
    retold = [];
    let sequence = 0;
    try {
      await root.transaction(() => {
        for (const { run } of group) run();
        // Read, not remembered: a commit that was told to have failed may have been made.
        sequence = readSequence();
        if (changes.length === 0) return;
        sequence += 1;
        writeSequence(sequence);
      });
      return { sequence, changes, retold };
    } catch (error) {
      return { error: await commitCause(error) };
    }
  }

  return {
    commit: <T>(change: () => T) =>
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
      }),
    follow: (next) => {
      follower = next;
    },
    onChange: (change) => void changes.push(change),
    retell: (change) => void retold.push(change),
  };
}

function attempt<T>(change: () => T): { value: T } | { error: unknown } {
  try {
    return { value: change() };
  } catch (error) {
    return { error };
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
