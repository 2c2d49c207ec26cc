import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { open, type RootDatabase } from 'lmdb';
import type { BucketRecord, ObjectRecord, PackRecord, PartRecord, UploadRecord } from './index-record.ts';
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
import { makeFolder } from './make-folder.ts';

/**
 * Which index this is, and how far it has come: of two with the same history, the one with the lower sequence is
 * older.
 */
export interface Position {
  /** Changes with every rebuild; absent until a version with a journal has opened the folder. */
  history: string | undefined;
  /** How many transactions have changed something. */
  sequence: number;
}

/** What a transaction has done. */
export interface Committed {
  sequence: number;
  changes: readonly Change[];
  /** Existing entries that `retell` asked for; their state is the one before or in the middle of these changes. */
  retold: readonly Change[];
}

/**
 * Receives every transaction, in order, once it is durable. Its writes are answered when the promise has resolved;
 * it never rejects.
 */
export type Follower = (committed: Committed) => Promise<void>;

export interface Retelling {
  goesOn(): boolean;
  broken: 'skip' | 'refuse';
}

/** The tables of the index, and the transactions that change them. */
export interface IndexTables {
  buckets: Table<string, BucketRecord>;
  objects: Table<Uint8Array, ObjectRecord>;
  /** The bytes of small objects that a version before packs has written. */
  inline: Table<Uint8Array, Buffer>;
  /**
   * Every blob that an object or a part refers to. The follower does not receive this table: it follows from the
   * others.
   */
  blobs: Table<string, true>;
  /** Every pack; like `blobs`, it follows from the others. */
  packs: Table<string, PackRecord>;
  doomed: Table<string, true>;
  uploads: Table<Uint8Array, UploadRecord>;
  parts: Table<string, PartRecord>;
  doomedUploads: Table<string, true>;
  /** What the index knows about itself; the follower does not receive it either. */
  meta: Table<string, number | string>;
  /** Runs the change in a transaction; resolves with its result once that is durable. */
  commit<T>(change: () => T): Promise<T>;
  /** Within a transaction: its number. Changes that share a transaction share it. */
  transaction(): number;
  /** @throws Error if it cannot be read */
  position(): Position;
  /** Starts a history of its own at this sequence. Older versions refuse the folder from then on. */
  beginHistory(sequence: number): Promise<void>;
  /** Whether it has been used by older versions only, which do not refuse it yet. */
  isOlder(): boolean;
  /** Makes sure that older versions refuse the folder, also if one of them has begun the history. */
  claim(): Promise<void>;
  follow(follower: Follower): void;
  /**
   * Reports everything that exists to the follower, a little at a time, with other transactions in between. False if
   * `goesOn` returned false.
   *
   * @throws Error at a broken record, unless broken ones are skipped
   */
  retell(options: Retelling): Promise<boolean>;
  /** Within a transaction: repeats a change that a follower received. */
  apply(change: Change): void;
  close(): Promise<void>;
}

/** Format 2 introduced small objects in the index, format 3 checksums and a journal, format 4 packs. */
const knownFormats = [1, 2, 3, 4];
const ownFormat = 4;
/** How many entries, or bytes of small objects, are retold in one transaction: about a millisecond of work. */
const retoldEntries = 200;
const retoldBytes = 256 * 1024;

/**
 * Opens (or creates) the tables in `folder`.
 *
 * @throws Error if the format is unknown
 */
export async function openIndexTables(
  folder: string,
  onBroken: (broken: BrokenRecord) => void = () => undefined,
): Promise<IndexTables> {
  // lmdb would let other users read the names of all objects.
  await makeFolder(folder);
  // Without overlappingSync a commit is synced before it becomes visible and before its promise resolves, so no reader
  // and no answer ever sees what a power cut could take back. Writes that arrive during a sync share the next one.
  const root = open({
    path: folder,
    noSubdir: false,
    overlappingSync: false,
    // All writes here are transactions. With batching, lmdb creates its own promise for each event turn, which nobody
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
        etag: 'string',
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
      textToJson<PartRecord>({ blob: 'string', size: 'number', etag: 'string', lastModified: 'number' }),
    ),
    doomedUploads: openNamed('doomed uploads', textToJson<true>()),
  };
  const blobs = openNamed('blobs', textToJson<true>(), untold);
  const packs = openNamed('packs', textToJson<PackRecord>({ liveBytes: 'number', knownBytes: 'number' }), untold);
  const appliers = new Map<string, (change: Change) => void>();
  for (const { name, apply } of Object.values(told)) appliers.set(name, apply);
  requireFormat(folder, meta.get('format'));

  function readNumber(name: string): number {
    const value = meta.get(name) ?? 0;
    if (typeof value === 'number') return value;
    throw new Error(`The ${name} of the index cannot be read.`);
  }

  function readSequence(): number {
    return readNumber('sequence');
  }

  function writeSequence(sequence: number): void {
    meta.put('sequence', sequence);
  }

  /** Returns where to continue, or undefined at the end. */
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
      // Takes at most half of the time away from waiting writes.
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
    packs,
    meta,
    commit: committer.commit,
    transaction: committer.transaction,
    position: () => {
      const history = meta.get('history');
      if (history === brokenRecord) throw new Error('The history of the index cannot be read.');
      return { history: history === undefined ? undefined : String(history), sequence: readSequence() };
    },
    beginHistory: (sequence) =>
      committer.commit(() => {
        meta.put('format', ownFormat);
        meta.put('history', randomBytes(16).toString('hex'));
        writeSequence(sequence);
      }),
    isOlder: () => {
      const format = meta.get('format');
      // The first format has no number, and neither has a new index.
      return format === undefined ? [...told.buckets.entries()].length > 0 : format !== ownFormat;
    },
    claim: async () => {
      if (meta.get('format') !== ownFormat) await committer.commit(() => meta.put('format', ownFormat));
    },
    follow: committer.follow,
    retell,
    apply: (change) => appliers.get(change[0])?.(change),
    close: () => root.close(),
  };
}

function requireFormat(folder: string, format: unknown): void {
  if (format === undefined || knownFormats.some((known) => known === format)) return;
  throw new Error(
    `The index in ${folder} has format ${String(format)}, but this version of Cadiz reads only formats up to ${ownFormat}: a newer version has used the object store. Start the newer version, or restore a backup from before it ran.`,
  );
}

interface Queued {
  run(): void;
  settle(failure?: { error: unknown }): void;
}

interface Committer {
  commit<T>(change: () => T): Promise<T>;
  transaction(): number;
  follow(follower: Follower): void;
  onChange(change: Change): void;
  retell(change: Change): void;
}

/**
 * Runs each change in a transaction, and resolves with its result once it is durable. Changes that arrive while a
 * transaction is being synced share the next one.
 *
 * There is only one transaction at a time. lmdb can queue them itself, but when a commit fails (a full disk), it
 * sometimes never settles the promise of one queued behind it: a request, and later the close, would hang.
 */
function groupCommits(
  root: RootDatabase,
  { readSequence, writeSequence }: { readSequence(): number; writeSequence(sequence: number): void },
): Committer {
  let queue: Queued[] = [];
  let committing = false;
  let transaction = 0;
  let follower: Follower | undefined;
  /** Those of the current transaction. */
  let changes: Change[] = [];
  let retold: Change[] = [];

  async function commitAll(): Promise<void> {
    committing = true;
    // Writes that waited together for their bytes to be durable arrive one right after the other.
    await undefined;
    while (queue.length > 0) {
      const group = queue;
      queue = [];
      const outcome = await commitGroup(group);
      const settleAll = () => {
        for (const { settle } of group) settle('error' in outcome ? outcome : undefined);
      };
      // The next transaction does not wait for the follower; only the answers do.
      if ('error' in outcome || !follower) settleAll();
      else void follower(outcome).then(settleAll);
    }
    committing = false;
  }

  async function commitGroup(group: readonly Queued[]): Promise<Committed | { error: unknown }> {
    transaction += 1;
    changes = [];
    retold = [];
    let sequence = 0;
    try {
      await root.transaction(() => {
        for (const { run } of group) run();
        // Read, not remembered: a commit that was reported as failed may have been made.
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
    transaction: () => transaction,
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
