import { randomBytes } from 'node:crypto';
import { constants, readSync } from 'node:fs';
import { type FileHandle, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder, writeFully } from './blobs.ts';
import { Damaged, systemCode } from './disk-error.ts';
import type { PackRecord } from './index-record.ts';
import { type Broken, brokenRecord } from './index-table.ts';
import type { Log } from './log.ts';
import { makeFolder } from './make-folder.ts';
import { decodeEntry, encodeEntry, entryBytes, type Packed } from './pack-entry.ts';

/**
 * The bytes of small objects, many in one file, a "pack". Entries are only ever appended: all that wait are written and
 * synced together, and only then may the index refer to them. So what the index knows is durable, and a crash leaves at
 * most an end of the last pack that nothing refers to.
 *
 * The index has a record of each pack, which is written before the pack gets its first entry. Like a blob, a pack that the
 * index does not know is set aside by a start, and comes back once an index knows it. A pack is removed only when nothing
 * in it is referred to any more and the index has decided about every byte of it; otherwise it is set aside.
 */
export interface Packs {
  /** Makes these bytes durable. Settle the entry once the index refers to it, or never will. */
  append(name: Uint8Array, bytes: Uint8Array): Promise<PackEntry>;
  settle(entry: PackEntry): void;
  read: PackReader['read'];
  /** Whether nothing will be appended to the pack any more, and the index has decided about all of its entries. */
  isClosed(pack: string): boolean;
  /** The size of a pack that was there at the start or written since; 0 if its file is gone. */
  sizeOf(pack: string): number;
  readWhole(pack: string): Promise<Buffer>;
  /** Removes the pack, durably; or sets it aside, if it has bytes beyond those that the index has decided about. */
  retire(pack: string, knownBytes: number): Promise<void>;
  /** How many packs this start has set aside. */
  setAside: number;
  close(): Promise<void>;
}

/** A durable entry that the index does not refer to yet. */
export interface PackEntry extends Packed {
  length: number;
  /**
   * Called in the transaction that refers to the entry, or refuses to: up to which byte of the pack everything is decided
   * by then.
   */
  decide(): number;
}

export interface PacksOptions {
  folder: string;
  /** The packs that the index knows. */
  known: ReadonlyMap<string, PackRecord | Broken>;
  /** Durably tells the index of a pack before it is used. */
  begin(pack: string): Promise<void>;
  /** A pack may have been closed. */
  onClosed(pack: string): void;
  log: Log;
  /** The next pack is started after this many bytes; default: 32 MiB */
  bytesPerPack?: number;
}

/** A pack that entries were appended to. */
interface OpenPack {
  pack: string;
  file: FileHandle;
  /** Where the next entry begins. */
  end: number;
  /** Those that are not settled, in order. */
  entries: (PackEntry & { decided: boolean })[];
}

interface Waiting {
  entry: Buffer;
  resolve(entry: PackEntry): void;
  reject(error: unknown): void;
}

const packName = /^[0-9a-f]{16}$/;
const defaultBytesPerPack = 32 * 1024 * 1024;
/** A pack that is fuller than this is not continued by a start. */
const continuedShare = 0.75;
const mostBytesAtOnce = 4 * 1024 * 1024;

const packsIn = (folder: string) => join(folder, 'packs');
const asideIn = (folder: string) => join(folder, 'set-aside');

/** Whether a file in `packs/` has a name that a pack may have. */
export const isPackName = (name: string) => packName.test(name);

/** Opens the folder, and sets aside what the index does not know. */
export async function openPacks(options: PacksOptions): Promise<Packs> {
  const { folder, known, log, bytesPerPack = defaultBytesPerPack } = options;
  await makeFolder(packsIn(folder));
  await makeFolder(asideIn(folder));
  const setAside = await setUnknownAside(folder, known);
  if (setAside > 0) {
    const message = 'Packs that the index does not know were moved to set-aside/. Delete them if nothing is missing.';
    log({ level: 'warn', message, count: setAside });
  }
  await bringBack(folder, known);
  const sizes = await measure(folder);
  const reader = openPackReader([packsIn(folder)]);
  const opened = new Map<string, OpenPack>();
  const waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;
  let current = await continueOne();

  /** A start continues a pack, so that many starts do not leave many small ones; but never one with an undecided end. */
  async function continueOne(): Promise<OpenPack | undefined> {
    for (const [pack, size] of sizes) {
      const record = known.get(pack);
      if (!record || record === brokenRecord || record.knownBytes !== size) continue;
      if (size < bytesPerPack * continuedShare) return use(pack, constants.O_RDWR, size);
    }
    return undefined;
  }

  async function use(pack: string, flags: number, end: number): Promise<OpenPack> {
    const file = await open(join(packsIn(folder), pack), flags, 0o600);
    const made = { pack, file, end, entries: [] };
    opened.set(pack, made);
    return made;
  }

  async function begin(): Promise<OpenPack> {
    const pack = randomBytes(8).toString('hex');
    const made = await use(pack, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0);
    try {
      await syncFolder(packsIn(folder));
      await options.begin(pack);
      return made;
    } catch (error) {
      leave(made);
      await unlink(join(packsIn(folder), pack));
      throw error;
    }
  }

  /** Appends nothing to the pack any more. */
  function leave(left: OpenPack): void {
    if (current === left) current = undefined;
    left.file.close().catch((error: unknown) => {
      log({ level: 'warn', message: 'A pack could not be closed.', pack: left.pack, error: String(error) });
    });
    closeIfSettled(left);
  }

  function closeIfSettled(left: OpenPack): void {
    if (left === current || left.entries.length > 0) return;
    opened.delete(left.pack);
    options.onClosed(left.pack);
  }

  async function writeAll(): Promise<void> {
    // What is appended in the same turn is written together.
    await undefined;
    while (waiting.length > 0) {
      let bytes = 0;
      const over = waiting.findIndex(({ entry }) => {
        bytes += entry.length;
        return bytes > mostBytesAtOnce;
      });
      await writeGroup(waiting.splice(0, over > 0 ? over : waiting.length));
    }
    writing = undefined;
  }

  async function writeGroup(group: readonly Waiting[]): Promise<void> {
    let to: OpenPack | undefined;
    let from = 0;
    try {
      const pack = current ?? (await begin());
      to = pack;
      current = pack;
      from = pack.end;
      const placed = group.map(({ entry, resolve }) => ({ made: place(pack, entry.length), resolve }));
      const entries = group.map(({ entry }) => entry);
      await writeFully(pack.file, entries, from);
      await pack.file.datasync();
      sizes.set(pack.pack, pack.end);
      for (const { made, resolve } of placed) resolve(made);
      if (to.end >= bytesPerPack) leave(to);
    } catch (error) {
      if (to) await abandon(to, from);
      for (const { reject } of group) reject(error);
    }
  }

  function place(to: OpenPack, length: number): PackEntry {
    const entry = {
      pack: to.pack,
      at: to.end,
      length,
      decided: false,
      decide: () => {
        entry.decided = true;
        return to.entries.find(({ decided }) => !decided)?.at ?? to.end;
      },
    };
    to.end += length;
    to.entries.push(entry);
    return entry;
  }

  /** After a failed write or sync, nobody knows what is on the disk: no later entry may depend on it. */
  async function abandon(failed: OpenPack, from: number): Promise<void> {
    failed.entries = failed.entries.filter(({ at }) => at < from);
    failed.end = from;
    try {
      await failed.file.truncate(from);
    } catch (error) {
      const message = 'A pack keeps bytes that could not be written whole.';
      log({ level: 'warn', message, pack: failed.pack, error: String(error) });
    }
    sizes.set(failed.pack, failed.end);
    leave(failed);
  }

  /**
   * What is being appended to was written a moment ago and is in memory, where a thread of its own would take longer than
   * the reading.
   */
  function readNow(name: Uint8Array, { pack, at }: Packed, size: number): Buffer | undefined {
    if (current?.pack !== pack) return undefined;
    const entry = Buffer.allocUnsafe(entryBytes(name, size));
    const bytesRead = readSync(current.file.fd, entry, 0, entry.length, at);
    return toBytes(entry.subarray(0, bytesRead), name, size);
  }

  return {
    append: (name, bytes) =>
      new Promise((resolve, reject) => {
        waiting.push({ entry: encodeEntry(name, bytes), resolve, reject });
        writing ??= writeAll();
      }),
    settle: ({ pack, at }) => {
      const from = opened.get(pack);
      if (!from) return;
      from.entries = from.entries.filter((entry) => entry.at !== at);
      closeIfSettled(from);
    },
    read: async (name, packed, size) => readNow(name, packed, size) ?? reader.read(name, packed, size),
    isClosed: (pack) => !opened.has(pack),
    sizeOf: (pack) => sizes.get(pack) ?? 0,
    readWhole: async (pack) => {
      const file = await open(join(packsIn(folder), pack));
      try {
        return await file.readFile();
      } finally {
        await file.close();
      }
    },
    retire: async (pack, knownBytes) => {
      const path = join(packsIn(folder), pack);
      const size = await sizeOfFile(path);
      if (size === undefined) return;
      if (size > knownBytes) {
        await rename(path, join(asideIn(folder), pack));
        await syncFolder(asideIn(folder));
      } else {
        await unlink(path);
      }
      await syncFolder(packsIn(folder));
      sizes.delete(pack);
      reader.forget(pack);
    },
    setAside,
    close: async () => {
      await writing;
      await current?.file.close();
      await reader.close();
    },
  };
}

/** Reads entries of packs, keeping some of the files open. */
export interface PackReader {
  /**
   * The bytes of an object.
   *
   * @throws Damaged if they are not what was stored, or a system error ENOENT if the pack has been removed
   */
  read(name: Uint8Array, packed: Packed, size: number): Promise<Buffer>;
  /** Does not read from this file again. */
  forget(pack: string): void;
  close(): Promise<void>;
}

interface Shared {
  file: Promise<FileHandle>;
  readers: number;
  forgotten: boolean;
}

const mostOpenFiles = 32;

/** @param folders - where a pack may be */
export function openPackReader(folders: readonly string[]): PackReader {
  /** The one that was used last is at the end. */
  const shared = new Map<string, Shared>();

  async function openFile(pack: string): Promise<FileHandle> {
    const [last = '', ...others] = [...folders].reverse();
    for (const folder of others.reverse()) {
      try {
        return await open(join(folder, pack), constants.O_RDONLY);
      } catch (error) {
        if (systemCode(error) !== 'ENOENT') throw error;
      }
    }
    return open(join(last, pack), constants.O_RDONLY);
  }

  function take(pack: string): Shared {
    const taken = shared.get(pack) ?? { file: openFile(pack), readers: 0, forgotten: false };
    shared.delete(pack);
    shared.set(pack, taken);
    taken.readers += 1;
    const [oldest] = shared.keys();
    if (shared.size > mostOpenFiles && oldest !== undefined) forget(oldest);
    return taken;
  }

  async function closeUnused({ file, readers, forgotten }: Shared): Promise<void> {
    if (readers === 0 && forgotten) await (await file).close();
  }

  function forget(pack: string): void {
    const forgotten = shared.get(pack);
    if (!forgotten) return;
    shared.delete(pack);
    forgotten.forgotten = true;
    // A file that could not be opened was reported to whoever wanted to read it.
    closeUnused(forgotten).catch(() => undefined);
  }

  async function read(name: Uint8Array, { pack, at }: Packed, size: number): Promise<Buffer> {
    const taken = take(pack);
    try {
      const file = await taken.file;
      const entry = Buffer.allocUnsafe(entryBytes(name, size));
      const { bytesRead } = await file.read(entry, 0, entry.length, at);
      return toBytes(entry.subarray(0, bytesRead), name, size);
    } catch (error) {
      if (!(error instanceof Damaged) && shared.get(pack) === taken) forget(pack);
      throw error;
    } finally {
      taken.readers -= 1;
      closeUnused(taken).catch(() => undefined);
    }
  }

  return {
    read,
    forget,
    close: async () => {
      for (const pack of [...shared.keys()]) forget(pack);
    },
  };
}

/** @throws Damaged */
function toBytes(entry: Buffer, name: Uint8Array, size: number): Buffer {
  const bytes = decodeEntry(entry, name);
  if (bytes?.length !== size) throw new Damaged();
  return bytes;
}

/** The packs that are there, and their sizes. */
async function measure(folder: string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const pack of await packNames(packsIn(folder))) {
    sizes.set(pack, (await stat(join(packsIn(folder), pack))).size);
  }
  return sizes;
}

async function sizeOfFile(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function packNames(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && isPackName(entry.name)).map(({ name }) => name);
}

/** Returns how many there were. One without bytes is of a start that was interrupted, and is removed. */
async function setUnknownAside(folder: string, known: PacksOptions['known']): Promise<number> {
  let count = 0;
  for (const pack of await packNames(packsIn(folder))) {
    if (known.has(pack)) continue;
    const path = join(packsIn(folder), pack);
    if ((await sizeOfFile(path)) === 0) await unlink(path);
    else await rename(path, join(asideIn(folder), pack));
    count += (await sizeOfFile(join(asideIn(folder), pack))) === undefined ? 0 : 1;
  }
  if (count > 0) await syncFolder(asideIn(folder));
  return count;
}

/** Packs that were set aside because an older index did not know them. */
async function bringBack(folder: string, known: PacksOptions['known']): Promise<void> {
  for (const pack of await packNames(asideIn(folder))) {
    if (!known.has(pack) || (await sizeOfFile(join(packsIn(folder), pack))) !== undefined) continue;
    await rename(join(asideIn(folder), pack), join(packsIn(folder), pack));
    await syncFolder(packsIn(folder));
  }
}
