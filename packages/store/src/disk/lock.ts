import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** The part of `fs-native-extensions` (a CommonJS addon without types) that is used here. */
interface FileLocks {
  tryLock(fd: number): boolean;
}

const { tryLock }: FileLocks = createRequire(import.meta.url)('fs-native-extensions');

/** Another process, or another store in this one, has the data folder open. */
export class StoreFolderInUse extends Error {
  readonly code = 'STORE_FOLDER_IN_USE';
  readonly folder: string;
  readonly holder: string;

  constructor(folder: string, holder: string) {
    super(`The data folder ${folder} is in use by ${holder}: stop it first, or choose another folder.`);
    this.name = 'StoreFolderInUse';
    this.folder = folder;
    this.holder = holder;
  }
}

/**
 * Locks the folder for this store alone, until `release` is called or the process ends in any way: the kernel holds the
 * lock (per open file description), so a `kill -9` leaves no stale lock behind.
 *
 * @throws StoreFolderInUse
 */
export function lockFolder(folder: string): { release(): void } {
  const path = join(folder, 'lock');
  const fd = openSync(path, 'a+', 0o600);
  try {
    if (!tryLock(fd)) throw new StoreFolderInUse(folder, readHolder(path));
    ftruncateSync(fd);
    writeSync(fd, `${process.pid}\n`);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return { release: () => closeSync(fd) };
}

function readHolder(path: string): string {
  const pid = readFileSync(path, 'utf8').trim();
  return /^\d+$/.test(pid) ? `process ${pid}` : 'another process';
}
