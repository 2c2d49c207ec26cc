import { rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { syncFolder } from './blobs.ts';
import { systemCode } from './disk-error.ts';
import type { Committed, IndexTables, Position } from './index-tables.ts';
import { IndexUnusable } from './index-unusable.ts';
import {
  continueJournal,
  createJournal,
  type JournalEnd,
  type JournalFile,
  type JournalHead,
  readJournalEnd,
  readJournalHead,
} from './journal-file.ts';
import type { Log } from './log.ts';

/**
 * A second copy of the index, in one file: everything that existed when the file was started, and every change since.
 * The index can be rebuilt from it. It is written after the index, which alone decides what is durable: a change is
 * handed to the system before it is answered, and synced within a second.
 *
 * When the journal has grown to more than twice the size of the index, a new one is written beside it, and replaces it
 * once it is complete and durable. So there is one complete journal at any moment.
 */
export interface Journal {
  /** Resolves when no new journal is being written any more, successfully or not. */
  settled(): Promise<void>;
  /** Makes it durable. False if it lacks changes, because it could not be written or is just being started. */
  flush(): Promise<boolean>;
  /** Starts a new journal if this one was started by a version that older ones can read. */
  renewOld(): void;
  close(): Promise<void>;
}

export interface JournalOptions {
  folder: string;
  tables: Pick<IndexTables, 'position' | 'follow' | 'retell'>;
  log: Log;
  /** How far it may exceed twice the size of the index before a new one is started; default: 16 MiB */
  renewBytes?: number;
  /** How long to wait before trying again to start a new one; default: a minute */
  retryMilliseconds?: number;
}

const flushMilliseconds = 1_000;
const defaultRetryMilliseconds = 60_000;
const defaultRenewBytes = 16 * 1024 * 1024;
/**
 * How much must stay free while a new one is written, in bytes and as a share of the disk: more than uploads leave
 * free.
 */
const spareBytes = 128 * 1024 * 1024;
const spareShare = 0.04;
/** The size of a new journal, at most, relative to the index: Base64 makes bytes a third longer. */
const mostOfIndex = 1.5;
/** How long a start waits for a new journal: that of a small index is complete before the first upload. */
const firstMilliseconds = 1_000;

/** Where the journal of the store in this folder is. */
export const journalPath = (folder: string) => join(folder, 'journal');

/**
 * Compares the index with its journal, and keeps the journal up to date from then on.
 *
 * @throws IndexUnusable if the index is older than its journal, or the journal belongs to another index
 */
export async function openJournal({
  folder,
  tables,
  log,
  renewBytes = defaultRenewBytes,
  retryMilliseconds = defaultRetryMilliseconds,
}: JournalOptions): Promise<Journal> {
  const path = journalPath(folder);
  const nextPath = `${path}.new`;
  await rm(nextPath, { force: true });
  /** Complete up to the last change; undefined while there is none. */
  let current: JournalFile | undefined;
  let mostBytes = 0;
  let next: JournalFile | undefined;
  /** A change was missed: the journal being written lacks it. */
  let missed = false;
  let { sequence } = tables.position();
  let renewing: Promise<void> | undefined;
  let flushTimer: NodeJS.Timeout | undefined;
  let retryTimer: NodeJS.Timeout | undefined;
  let closing = false;

  const found = await findJournal(folder, tables.position(), log);
  if (found) {
    current = await continueJournal(path, found, onFailure);
    mostBytes = 2 * (await indexBytes(folder)) + renewBytes;
  }
  tables.follow(follow);
  if (!current) {
    renew();
    const enough = delay(firstMilliseconds, undefined, { ref: false });
    await Promise.race([renewing, enough]);
  }
  return {
    settled: async () => renewing,
    flush: async () => {
      await flushBoth();
      return current !== undefined && !current.hasFailed();
    },
    renewOld: () => {
      if (found?.format === 1) renew();
    },
    close,
  };

  function onFailure(error: unknown): void {
    log({
      level: 'warn',
      message: 'The journal could not be written. A new one will be started.',
      error: String(error),
    });
    retryLater();
  }

  async function follow(committed: Committed): Promise<void> {
    const { changes, retold } = committed;
    const isNext = committed.sequence === sequence + 1 || changes.length === 0;
    const appended: Promise<void>[] = [];
    if (next && retold.length > 0) appended.push(next.append({ sequence, changes: retold }));
    sequence = committed.sequence;
    if (changes.length > 0) {
      if (!isNext) onMissed();
      if (current) appended.push(current.append({ sequence, changes }));
      if (next) appended.push(next.append({ sequence, changes }));
      flushTimer ??= setTimeout(flush, flushMilliseconds).unref();
    }
    await Promise.all(appended);
    if (current && current.bytes() > mostBytes && !retryTimer) renew();
  }

  /** A commit that was reported as failed was made. */
  function onMissed(): void {
    missed = true;
    void current?.close();
    current = undefined;
    retryLater();
  }

  function retryLater(): void {
    retryTimer ??= setTimeout(() => {
      retryTimer = undefined;
      renew();
    }, retryMilliseconds).unref();
  }

  async function flush(): Promise<void> {
    flushTimer = undefined;
    await flushBoth();
  }

  /** Either may be the current one by the time the other is durable. */
  async function flushBoth(): Promise<void> {
    await Promise.all([current?.flush(), next?.flush()]);
  }

  function renew(): void {
    if (closing) return;
    renewing ??= renewOnce()
      .catch((error: unknown) => {
        log({ level: 'warn', message: 'A new journal could not be started.', error: String(error) });
        retryLater();
      })
      .finally(() => {
        renewing = undefined;
      });
  }

  async function renewOnce(): Promise<void> {
    await requireRoom(folder);
    const begun: JournalFile = await createJournal(nextPath, (error) => {
      if (begun === current) onFailure(error);
    });
    const { history = '' } = tables.position();
    next = begun;
    missed = false;
    void begun.append({ journal: 2, history, sequence });
    try {
      // A complete journal may still have records that the index can no longer read.
      const isWhole = await tables.retell({
        goesOn: () => !closing && !missed && !begun.hasFailed(),
        broken: current ? 'refuse' : 'skip',
      });
      await begun.flush();
      if (!isWhole && closing) return await discard(begun);
      if (!isWhole || missed || begun.hasFailed()) throw new Error('It could not be written.');
      await rename(nextPath, path);
    } catch (error) {
      await discard(begun);
      throw error;
    }
    const before = current;
    current = begun;
    next = undefined;
    mostBytes = 2 * (await indexBytes(folder)) + renewBytes;
    if (begun.hasFailed()) retryLater();
    await before?.close();
    await syncFolder(folder);
  }

  async function discard(begun: JournalFile): Promise<void> {
    next = undefined;
    await begun.close();
    await rm(nextPath, { force: true });
  }

  async function close(): Promise<void> {
    closing = true;
    clearTimeout(flushTimer);
    clearTimeout(retryTimer);
    await renewing;
    await current?.flush();
    await current?.close();
  }
}

/** Where to continue the existing journal; undefined if it lacks changes, so that a new one must be started. */
async function findJournal(
  folder: string,
  { history, sequence }: Position,
  log: Log,
): Promise<(JournalEnd & { format: JournalHead['journal'] }) | undefined> {
  const path = journalPath(folder);
  if (!(await isThere(path))) return undefined;
  const head = await readJournalHead(path);
  const end = await readJournalEnd(path);
  if (!head || !end) {
    const aside = `${path}.unreadable-${Date.now()}`;
    await rename(path, aside);
    log({
      level: 'warn',
      message: 'The journal cannot be read. It was set aside, and a new one is started.',
      path: aside,
    });
    return undefined;
  }
  if (head.history !== history) {
    throw IndexUnusable.butJournal(folder, 'is not the one that its journal belongs to');
  }
  if (end.sequence > sequence) {
    const what = `is older than its journal: it ends with change ${sequence}, and the journal with change ${end.sequence}`;
    throw IndexUnusable.butJournal(folder, what);
  }
  return end.sequence === sequence ? { ...end, format: head.journal } : undefined;
}

/** A journal as large as the index must leave enough room for uploads and removals. */
async function requireRoom(folder: string): Promise<void> {
  const neededBytes = mostOfIndex * (await indexBytes(folder));
  const { bavail, blocks, bsize } = await statfs(folder);
  const spare = Math.min(spareBytes, blocks * bsize * spareShare);
  if (bavail * bsize >= neededBytes + spare) return;
  throw new Error(`The disk has no room for the ${neededBytes} bytes it may need.`);
}

async function indexBytes(folder: string): Promise<number> {
  return (await stat(join(folder, 'index', 'data.mdb'))).size;
}

/** Whether a file or folder exists. @throws the system's error if that cannot be found out */
export async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return false;
    throw error;
  }
}
