import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from './disk-error.ts';
import { makeFolder } from './make-folder.ts';

/**
 * The bytes of objects, in files named by a random id, never by a key.
 *
 * A blob is written to `incoming/`, synced, and renamed into the current generation, `blobs/<generation>/`, which takes
 * a few thousand blobs before the next one is started. A generation is open while it can still hold blobs that no
 * object refers to yet. After a crash only open ones are searched, so the cost of a start depends on what was uploaded
 * lately, not on what is stored.
 *
 * Files in `incoming/` were never acknowledged, and are removed by the next start. A blob in a generation may have been
 * acknowledged: if the index does not know it, it moves to `set-aside/`, and back once an index knows it. Only blobs
 * that the index lists as doomed are removed. That is safe however old the index is, because no blob is ever referred
 * to a second time.
 */
export interface Blobs {
  /** Starts a blob. The writer must be sealed or discarded. */
  receive(): Promise<BlobWriter>;
  /** @throws a system error ENOENT if the blob has been removed */
  open(blob: string): Promise<FileHandle>;
  /** Says that the index now refers to this sealed blob. */
  settle(blob: string): void;
  /** Removes a sealed blob that the index will never refer to. If that fails, the next start does it. */
  abandon(blob: string): Promise<void>;
  /** Removes the file of a blob, if it exists. */
  remove(blob: string): Promise<void>;
  /** Makes earlier removals of these blobs survive a power cut. */
  syncRemovals(blobs: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

export interface BlobWriter {
  /** Takes a chunk; the promise it returns, if any, must be awaited before the next one. */
  write(chunk: Buffer): Promise<void> | undefined;
  /** How many bytes the file has so far. */
  written(): number;
  /** Resolves when no chunk is waiting to be written. */
  drained(): Promise<void>;
  /** Makes the bytes and the file's name durable, and returns the blob's id. */
  seal(): Promise<string>;
  /** Drops what was written. Has no effect after a successful `seal`. */
  discard(): Promise<void>;
}

export interface BlobsOptions {
  folder: string;
  openGeneration: number;
  /** Whether the index refers to the blob, or lists it as doomed. */
  isKnown(blob: string): boolean;
  /** Called if the start has set blobs aside. */
  onSetAside(count: number): void;
  /** Called when all generations below this one have settled. */
  onGenerationsSettled(openGeneration: number): void;
  /** The next generation starts after this many blobs; default: 4096 */
  blobsPerGeneration?: number;
}

/** Where the next blob goes: the number of the generation, and how many blobs it has. */
interface Place {
  number: number;
  blobs: number;
}

interface Generation extends Place {
  folder: string;
  /** Sealed but not yet settled blobs, and writers that are about to rename into here. */
  unsettled: number;
  handle: FileHandle;
  sync(): Promise<void>;
}

const generationName = /^[0-9a-f]{8}$/;
const blobName = /^[0-9a-f]{8}-[0-9a-f]{32}$/;
const defaultBlobsPerGeneration = 4096;
const writeAheadBytes = 4 * 1024 * 1024;
const earlySyncBytes = 64 * 1024 * 1024;

/** Opens the folders. Removes what an earlier process never finished, and sets aside what the index does not know. */
export async function openBlobs(options: BlobsOptions): Promise<Blobs> {
  const incoming = join(options.folder, 'incoming');
  const sealed = join(options.folder, 'blobs');
  const aside = join(options.folder, 'set-aside');
  const perGeneration = options.blobsPerGeneration ?? defaultBlobsPerGeneration;
  await sweepIncoming(incoming);
  await makeFolder(sealed);
  await makeFolder(aside);
  await bringBack(aside, sealed, options);
  let next = await setUnknownAside(sealed, aside, options);
  let current: Promise<Generation> | undefined;
  const openGenerations = new Map<number, Generation>();

  /** Reserves a place in the current generation, which stays open until `leave`. */
  async function enter(): Promise<Generation> {
    current ??= openGeneration(sealed, next);
    const generation = await current.catch((error: unknown) => {
      current = undefined; // a folder that a full disk refused is requested again
      throw error;
    });
    openGenerations.set(generation.number, generation);
    generation.blobs += 1;
    generation.unsettled += 1;
    if (generation.blobs >= perGeneration && generation.number === next.number) {
      next = { number: generation.number + 1, blobs: 0 };
      current = undefined;
    }
    return generation;
  }

  function leave(generation: Generation): void {
    generation.unsettled -= 1;
    if (generation.unsettled > 0 || generation.number === next.number) return;
    openGenerations.delete(generation.number);
    void generation.handle.close().catch(() => undefined);
    options.onGenerationsSettled(Math.min(next.number, ...openGenerations.keys()));
  }

  /**
   * The removal must last: otherwise, after a power cut, a closed generation could hold a file that nobody looks for.
   */
  async function abandon(generation: Generation, blob: string): Promise<void> {
    await removeIfThere(join(generation.folder, blob));
    await generation.sync();
    leave(generation);
  }

  async function receive(): Promise<BlobWriter> {
    const name = randomBytes(16).toString('hex');
    const path = join(incoming, name);
    const file = await open(path, 'wx', 0o600);
    const writer = writeBehind(file);
    let state: 'open' | 'sealed' | 'discarded' = 'open';

    async function seal(): Promise<string> {
      await writer.finish();
      const generation = await enter();
      const blob = toBlobId(generation.number, name);
      try {
        // The name may become durable before the bytes: until the index refers to the blob, the next start removes it.
        await rename(path, join(generation.folder, blob));
        await Promise.all([file.datasync(), generation.sync()]);
        await file.close();
      } catch (error) {
        // If this fails too, the generation stays open, and the next start removes the file.
        await abandon(generation, blob).catch(() => undefined);
        throw error;
      }
      state = 'sealed';
      return blob;
    }

    async function discard(): Promise<void> {
      if (state !== 'open') return;
      state = 'discarded';
      await writer.finish().catch(() => undefined);
      await file.close().catch(() => undefined);
      await removeIfThere(path);
    }

    const { write, written, drained } = writer;
    return { write, written, drained, seal, discard };
  }

  return {
    receive,
    open: (blob) => open(blobPath(sealed, blob), constants.O_RDONLY),
    settle: (blob) => {
      const generation = openGenerations.get(generationOf(blob));
      if (generation) leave(generation);
    },
    abandon: async (blob) => {
      const generation = openGenerations.get(generationOf(blob));
      if (generation) await abandon(generation, blob);
    },
    remove: (blob) => removeIfThere(blobPath(sealed, blob)),
    syncRemovals: async (blobs) => {
      for (const generation of new Set(blobs.map(generationOf))) {
        await syncFolder(join(sealed, folderName(generation)));
      }
    },
    close: async () => {
      for (const generation of openGenerations.values()) await generation.handle.close();
    },
  };
}

function folderName(generation: number): string {
  return generation.toString(16).padStart(8, '0');
}

function toBlobId(generation: number, name: string): string {
  return `${folderName(generation)}-${name}`;
}

function generationOf(blob: string): number {
  return Number.parseInt(blob.slice(0, 8), 16);
}

function blobPath(sealed: string, blob: string): string {
  return join(sealed, blob.slice(0, 8), blob);
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}

/** fsync of a folder: what was renamed into it or removed from it stays that way. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function openGeneration(sealed: string, { number, blobs }: Place): Promise<Generation> {
  const folder = join(sealed, folderName(number));
  await makeFolder(folder);
  await syncFolder(sealed);
  const handle = await open(folder, constants.O_RDONLY);
  return { number, folder, blobs, unsettled: 0, handle, sync: shareRuns(() => handle.sync()) };
}

/** Lists our own files only; anything else somebody put there is left alone, as `verify` reports. */
async function sweepIncoming(incoming: string): Promise<void> {
  await makeFolder(incoming);
  for (const name of await filesIn(incoming)) await removeIfThere(join(incoming, name));
}

/** Blobs that were set aside because an older index did not know them. */
async function bringBack(aside: string, sealed: string, { isKnown }: BlobsOptions): Promise<void> {
  const known = (await filesIn(aside)).filter((name) => blobName.test(name) && isKnown(name));
  for (const blob of known) {
    const folder = join(sealed, blob.slice(0, 8));
    await makeFolder(folder);
    await rename(join(aside, blob), join(folder, blob));
    await syncFolder(folder);
  }
  if (known.length > 0) await syncFolder(sealed);
}

/** Sets aside the blobs in open generations that the index does not know; returns where the next blob goes. */
async function setUnknownAside(sealed: string, aside: string, options: BlobsOptions): Promise<Place> {
  const found = (await readdir(sealed, { withFileTypes: true })).filter(({ name }) => generationName.test(name));
  const open = found.filter(({ name }) => generationOf(name) >= options.openGeneration);
  let last: Place = { number: options.openGeneration, blobs: 0 };
  let count = 0;
  for (const entry of open.sort((a, b) => generationOf(a.name) - generationOf(b.name))) {
    const number = generationOf(entry.name);
    if (!entry.isDirectory()) {
      last = { number: number + 1, blobs: 0 };
      continue;
    }
    const folder = join(sealed, entry.name);
    const blobs = await filesIn(folder);
    const unknown = blobs.filter((blob) => !options.isKnown(blob));
    for (const blob of unknown) await rename(join(folder, blob), join(aside, blob));
    if (unknown.length > 0) await syncFolder(aside);
    count += unknown.length;
    last = { number, blobs: blobs.length - unknown.length };
  }
  if (count > 0) options.onSetAside(count);
  return last;
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

/**
 * Writes chunks while the next ones arrive, gathering them into one system call, with a limit on how much waits. The
 * written part of a large blob is synced along the way, so that the disk works in the meantime and little is left for
 * the end.
 */
function writeBehind(
  file: FileHandle,
): Pick<BlobWriter, 'write' | 'written' | 'drained'> & { finish(): Promise<void> } {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let position = 0;
  let running: Promise<void> | undefined;
  let syncedFrom = 0;
  let syncing: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;

  function syncEarly(): void {
    if (syncing || position - syncedFrom < earlySyncBytes) return;
    syncedFrom = position;
    syncing = file
      .datasync()
      // The kernel reports a failed write once, and the sync at the end would not know about it.
      .catch((error: unknown) => {
        failure = { error };
      })
      .finally(() => {
        syncing = undefined;
      });
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0 && !failure) {
      const chunks = waiting;
      waiting = [];
      waitingBytes = 0;
      try {
        position += await writeFully(file, chunks, position);
        syncEarly();
      } catch (error) {
        failure = { error };
      }
    }
    running = undefined;
  }

  async function drained(): Promise<void> {
    await running;
    if (failure) throw failure.error;
  }

  async function finish(): Promise<void> {
    await running;
    await syncing;
    if (failure) throw failure.error;
  }

  function write(chunk: Buffer): Promise<void> | undefined {
    waiting.push(chunk);
    waitingBytes += chunk.length;
    running ??= writeAll();
    return waitingBytes >= writeAheadBytes || failure ? drained() : undefined;
  }

  return { write, written: () => position, drained, finish };
}

/** @returns the number of bytes, which is always all of them */
export async function writeFully(file: FileHandle, chunks: Buffer[], position: number): Promise<number> {
  const total = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const { bytesWritten } = await file.writev(chunks, position);
  let written = bytesWritten;
  if (written < total) {
    // A short write (the disk just filled up): write the rest again, which then fails with the reason.
    const rest = Buffer.concat(chunks).subarray(written);
    for (let offset = 0; offset < rest.length; ) {
      const step = await file.write(rest, offset, rest.length - offset, position + written);
      offset += step.bytesWritten;
      written += step.bytesWritten;
    }
  }
  return written;
}

/**
 * Lets callers share runs of a slow `work`: each gets a run that started after its call, so a hundred uploads that wait
 * for the sync of one folder cost two.
 */
export function shareRuns(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  function start(): Promise<void> {
    const run = work().finally(() => {
      if (running === run) running = undefined;
    });
    running = run;
    return run;
  }

  return () => {
    if (!running) return start();
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return start();
      });
    return next;
  };
}
