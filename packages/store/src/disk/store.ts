import { access, constants, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Blobs, openBlobs, syncFolder } from './blobs.ts';
import { openCompactor } from './compactor.ts';
import { type DigestThreads, openDigestThreads } from './digest-threads.ts';
import { isDiskFull, isIndexDamage, systemCode } from './disk-error.ts';
import { type IndexDb, openIndexDb } from './index-db.ts';
import type { BrokenRecord } from './index-table.ts';
import { type Journal, openJournal } from './journal.ts';
import { lockFolder, StoreFolderInUse } from './lock.ts';
import type { Log } from './log.ts';
import { makeFolder } from './make-folder.ts';
import { moveInline } from './move-inline.ts';
import { openPacks, type Packs } from './packs.ts';
import { openReaper, type Reaper } from './reaper.ts';
import { requireIndexFile } from './require-index.ts';
import { openRoom, type Room } from './room.ts';

/** What the operations can reach. */
export interface Store {
  index: IndexDb;
  blobs: Blobs;
  packs: Packs;
  reaper: Reaper;
  room: Room;
  digestThreads: DigestThreads;
  region: string;
  maxObjectBytes: number;
  /** Whether a presigned URL may replace an object that is there. */
  presignedOverwrite: 'allow' | 'deny';
  /** see StoreOptions */
  keepWaitingMilliseconds: number;
  /** see StoreOptions */
  onObject(bucket: string, key: string): void;
  /** Unix milliseconds. */
  now(): number;
  log: Log;
}

/** The data folder cannot be created or written to. `reason` is the system's code, such as EACCES. */
export class StoreFolderUnwritable extends Error {
  readonly code = 'STORE_FOLDER_UNWRITABLE';
  readonly folder: string;
  readonly reason: string;

  constructor(folder: string, reason: string) {
    super(describeUnwritable(folder, reason));
    this.name = 'StoreFolderUnwritable';
    this.folder = folder;
    this.reason = reason;
  }
}

function describeUnwritable(folder: string, reason: string): string {
  switch (reason) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `The disk of the data folder ${folder} is full (${reason}): free some space on it, or choose another folder.`;
    case 'EROFS':
      return `The data folder ${folder} is on a disk that is mounted read-only (${reason}): mount it writable, or choose another folder.`;
    case 'ENOENT':
      return `The data folder ${folder} cannot be created (${reason}): its file system does not allow folders. Choose another folder.`;
    case 'EEXIST':
    case 'ENOTDIR':
      return `The data folder ${folder} cannot be created (${reason}): something that is not a folder is in the way. Choose another folder.`;
    default:
      return `The data folder ${folder} cannot be written to (${reason}): give this user write permission, or choose another folder.`;
  }
}

export interface OpenStore {
  store: Store;
  close(): Promise<void>;
}

/**
 * Opens the data folder: locks it, makes sure that the index belongs to the files beside it, and clears away what a
 * crash left behind.
 *
 * @param mayConvert as for `openIndexDb`
 * @throws StoreFolderInUse, StoreFolderUnwritable, IndexUnusable, OlderFormat
 */
export async function openStoreFolder(
  dataDir: string,
  settings: Pick<
    Store,
    'region' | 'maxObjectBytes' | 'presignedOverwrite' | 'keepWaitingMilliseconds' | 'onObject' | 'now' | 'log'
  >,
  mayConvert?: boolean,
): Promise<OpenStore> {
  const folder = resolve(dataDir);
  const lock = await lockWritable(folder);
  const closers: (() => unknown)[] = [lock.release];
  const close = async () => {
    for (const closeOne of closers.splice(0).reverse()) await closeOne();
  };
  try {
    if (!(await requireIndexFile(folder, { thorough: false }))) await requireSomeRoom(folder);
    const index = await openIndexDb(join(folder, 'index'), { onBroken: logBroken(settings.log), mayConvert });
    closers.push(index.close);
    const journal = await openJournal({ folder, tables: index.tables, log: settings.log });
    closers.push(journal.close);
    const blobs = await openBlobs({
      folder,
      openGeneration: index.blobs.readOpenGeneration(),
      isKnown: (blob) => index.blobs.has(blob) || index.blobs.isDoomed(blob),
      onSetAside: (count) => {
        const message = 'Files that no object refers to were moved to set-aside/. Delete them if nothing is missing.';
        settings.log({ level: 'warn', message, count });
      },
      onGenerationsSettled: (generation) => {
        // This only saves the next start some work; a later call writes it again.
        index.blobs.writeOpenGeneration(generation).catch((error: unknown) => {
          settings.log({ level: 'warn', message: 'The open generation was not written.', error: String(error) });
        });
      },
    });
    closers.push(blobs.close);
    const packs = await openPacks({
      folder,
      known: index.packs.all(),
      begin: index.packs.begin,
      onClosed: (pack) => compactor.consider(pack),
      log: settings.log,
    });
    closers.push(packs.close);
    const room = openRoom(folder, () => reaper.settled());
    const compactor = openCompactor({ index, packs, room, flushJournal: journal.flush, log: settings.log });
    closers.push(compactor.close);
    const reaper = await openReaper(index, blobs, compactor.consider, settings.log);
    closers.push(reaper.close);
    for (const pack of index.packs.all().keys()) compactor.consider(pack);
    closers.push(moveInBackground({ index, packs, room }, journal, settings.log));
    const digestThreads = openDigestThreads();
    closers.push(digestThreads.close);
    await syncFolder(join(folder, 'index'));
    await syncFolder(folder);
    return { store: { ...settings, index, blobs, packs, reaper, room, digestThreads }, close };
  } catch (error) {
    await close();
    // lmdb does not say which page it is, nor what to do.
    if (isIndexDamage(error)) await requireIndexFile(folder, { thorough: true });
    throw isDiskFull(error) ? new StoreFolderUnwritable(folder, systemCode(error) ?? 'ENOSPC') : error;
  }
}

/** Moves what an earlier version has put into the index. Returns what stops it. */
function moveInBackground(
  parts: Pick<Store, 'index' | 'packs' | 'room'>,
  journal: Journal,
  log: Log,
): () => Promise<void> {
  let closing = false;
  const moving = moveInline(parts, () => !closing)
    .then((moved) => {
      if (closing) return;
      if (moved > 0) log({ level: 'info', message: 'Small objects were moved from the index to packs.', count: moved });
      journal.renewOld();
    })
    .catch((error: unknown) => {
      const message = 'Small objects stay in the index until the next start.';
      log({ level: 'warn', message, error: String(error) });
    });
  return async () => {
    closing = true;
    await moving;
  };
}

/** Once for each record: every listing meets it. */
function logBroken(log: Log): (broken: BrokenRecord) => void {
  const logged = new Set<string>();
  return ({ table, key }) => {
    const name = `${table} ${key}`;
    if (logged.has(name)) return;
    logged.add(name);
    log({
      level: 'error',
      message: 'A record of the index is broken. Run cadiz-store verify for details.',
      table,
      key,
    });
  };
}

/** How much of the disk must be free for a new store. */
const leastFreeBytes = 4 * 1024 ** 2;

/** LMDB maps what it makes, and to write where the disk has no room ends the process, as others may take it meanwhile. */
async function requireSomeRoom(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < leastFreeBytes) throw new StoreFolderUnwritable(folder, 'ENOSPC');
}

/**
 * Locks a folder that is there.
 *
 * @throws StoreFolderInUse, StoreFolderUnwritable
 */
export function lockStoreFolder(folder: string): ReturnType<typeof lockFolder> {
  try {
    return lockFolder(folder);
  } catch (error) {
    if (error instanceof StoreFolderInUse) throw error;
    throw new StoreFolderUnwritable(folder, systemCode(error) ?? String(error));
  }
}

async function lockWritable(folder: string): Promise<ReturnType<typeof lockFolder>> {
  try {
    const made = await makeFolder(folder);
    if (made) await syncFolder(dirname(made));
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new StoreFolderUnwritable(folder, systemCode(error) ?? String(error));
  }
  return lockStoreFolder(folder);
}
