import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import pRetry from 'p-retry';
import { z } from 'zod';
import { fromLine } from '../db/copy-text.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { DamagedArchive, findDamage, type Manifest, makeDurableFolder, readPart, syncFolder } from './archive.ts';

/** The folder of the copies in an archive, which its backups share. */
export const objectsName = 'objects';
const atOnce = 8;

/** How far it is with the objects. */
export interface Standing {
  files: { done: number; total: number };
  bytes: { done: number; total: number };
  current: readonly { name: string; done: number; total: number }[];
}

/** Shows how far something is, until `stop`. */
export type Watch = (verb: string, look: () => Standing) => { interject(say: () => void): void; stop(): void };

/** What the commands that handle objects report to. */
export interface Telling {
  watch: Watch;
  warn(sentence: string): void;
}

/** The object of a file, as its row describes it. */
export interface RecordedObject {
  storeKey: string;
  sizeBytes: number;
  etag: string;
  /** in hex, if the row has one that was not refuted */
  sha256: string | undefined;
}

/** A line of the list of objects. */
const Listed = z.object({
  storeKey: z.string(),
  sizeBytes: z.number(),
  etag: z.string(),
  /** of the copy, in hex; null if there is none */
  sha256: z.string().nullable(),
});
export type Listed = z.output<typeof Listed>;

/** What is wrong with one object; the others go on. */
export class ObjectFailure extends Error {
  override readonly name = 'ObjectFailure';
}

/** The store has stopped in the middle of an object, which may arrive whole another time. */
class BrokenOff extends Error {
  override readonly name = 'BrokenOff';
}

/** The bytes of an object as they arrive. @throws BrokenOff */
export async function* receive(
  storeKey: string,
  body: Readable,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  let received = 0;
  try {
    for await (const bytes of body as AsyncIterable<Buffer>) {
      received += bytes.length;
      onBytes(bytes.length);
      yield bytes;
    }
  } catch (cause) {
    onBytes(-received);
    throw new BrokenOff(`The object store has broken off while it sent ${storeKey}.`, { cause });
  } finally {
    body.destroy();
  }
}

/** Reads an object again if the store breaks off: one lost connection must not end hours of reading. */
export const untilWhole = <T>(read: () => Promise<T>): Promise<T> =>
  pRetry(read, { retries: 3, minTimeout: 200, shouldRetry: ({ error }) => error instanceof BrokenOff });

/** Where the copy of an object is, below the folder of the archive. */
function toCopyPath(storeKey: string): string {
  const name = createHash('sha256').update(storeKey).digest('hex');
  return `${objectsName}/${name.slice(0, 2)}/${name.slice(2, 4)}/${name}`;
}

/** The objects of all files in the archive, whether in the trash, quarantined or neither. */
export async function* readRecorded(
  folder: string,
  { tables }: Pick<Manifest, 'tables'>,
): AsyncGenerator<RecordedObject> {
  const files = tables.find(({ name }) => name === 'files');
  if (files === undefined) throw new DamagedArchive(`The manifest of ${folder} does not name files.`);
  for await (const lines of readPart(folder, files)) {
    for (const line of lines) {
      const row = fromLine(line);
      const column = (name: string) => row[files.columns.indexOf(name)] ?? undefined;
      const isRefuted = column('sha256_state') === 'mismatch';
      yield {
        storeKey: column('store_key') ?? '',
        sizeBytes: Number(column('file_size')),
        etag: column('etag') ?? '',
        sha256: isRefuted ? undefined : column('sha256')?.replace(/^\\x/, ''),
      };
    }
  }
}

/** The list of objects in the archive. */
export async function* readListed(folder: string, { objects }: Pick<Manifest, 'objects'>): AsyncGenerator<Listed> {
  if (objects === undefined) {
    throw new DamagedArchive(
      `The backup in ${folder} has no objects: it was made without --objects, or its objects are kept elsewhere.`,
    );
  }
  for await (const lines of readPart(folder, objects)) for (const line of lines) yield Listed.parse(JSON.parse(line));
}

/**
 * The SHA-256 of the copies of an earlier backup, by storeKey, as far as the rows of files may not have it: an ETag of parts proves
 * nothing. Of none if the list is damaged.
 */
export async function readCopied(folder: string, earlier: Manifest | undefined): Promise<ReadonlyMap<string, string>> {
  const copied = new Map<string, string>();
  if (earlier?.objects === undefined || (await findDamage(folder, earlier.objects)) !== undefined) return copied;
  for await (const { storeKey, etag, sha256 } of readListed(folder, earlier)) {
    if (sha256 !== null && !isMd5(etag)) copied.set(storeKey, sha256);
  }
  return copied;
}

/**
 * Does something with each object, several at once, and shows how far it is.
 * @param read called twice: first to count
 * @param work an `ObjectFailure` concerns one object and is told; anything else ends it all
 * @returns the results, some at a time, in any order
 */
export async function* forEachObject<T extends { storeKey: string; sizeBytes: number }, R>(
  read: () => AsyncIterable<T>,
  verb: string,
  { watch, warn }: Telling,
  work: (object: T, onBytes: (bytes: number) => void) => Promise<R>,
  onFailure: (object: T) => R,
): AsyncGenerator<R[]> {
  const files = { done: 0, total: 0 };
  const bytes = { done: 0, total: 0 };
  for await (const { sizeBytes } of read()) {
    files.total += 1;
    bytes.total += sizeBytes;
  }
  const current = new Map<T, { name: string; done: number; total: number }>();
  const progress = watch(verb, () => {
    const under = [...current.values()];
    const done = under.reduce((sum, one) => sum + one.done, bytes.done);
    return { files, bytes: { ...bytes, done }, current: under };
  });
  let results: R[] = [];
  const run = async (object: T) => {
    const one = { name: object.storeKey, done: 0, total: object.sizeBytes };
    current.set(object, one);
    try {
      const result = await work(object, (read) => {
        one.done += read;
      });
      // Only now: while it was awaited, the results before it may have been taken.
      results.push(result);
    } catch (error) {
      if (!(error instanceof ObjectFailure)) throw error;
      progress.interject(() => warn(`${object.storeKey}: ${error.message}`));
      results.push(onFailure(object));
    } finally {
      current.delete(object);
    }
    files.done += 1;
    bytes.done += object.sizeBytes;
  };
  const running = new Set<Promise<void>>();
  try {
    for await (const object of read()) {
      const one: Promise<void> = run(object).then(() => void running.delete(one));
      // One that fails while nothing waits for it is thrown when something does.
      one.catch(() => undefined);
      running.add(one);
      if (running.size >= atOnce) await Promise.race(running);
      if (results.length < 100) continue;
      const ready = results;
      results = [];
      yield ready;
    }
    await Promise.all(running);
    yield results;
  } finally {
    await Promise.allSettled(running);
    progress.stop();
  }
}

/**
 * Copies an object into the archive, unless a copy with its bytes is there: under another name until it is verified
 * and on the disk.
 * @param copied the SHA-256 of the copy that an earlier backup has made, if it is needed to tell whether that is damaged
 * @throws ObjectFailure if the object is gone, has changed, or has not arrived as it was recorded
 */
export async function copyObject(
  folder: string,
  store: Pick<ObjectStore, 'read'>,
  object: RecordedObject,
  copied: string | undefined,
  onBytes: (bytes: number) => void,
): Promise<Listed> {
  const { storeKey, sizeBytes, etag } = object;
  const path = join(folder, toCopyPath(storeKey));
  const there = await hashCopy(path, object, copied);
  const sha256 = there ?? (await untilWhole(() => download(path, store, object, onBytes)));
  return { storeKey, sizeBytes, etag, sha256 };
}

/** @returns the SHA-256 of what has arrived */
async function download(
  path: string,
  store: Pick<ObjectStore, 'read'>,
  object: RecordedObject,
  onBytes: (bytes: number) => void,
): Promise<string> {
  const { storeKey, sizeBytes, etag } = object;
  const found = await store.read(storeKey);
  if (found === undefined) throw new ObjectFailure('its object is not in the object store.');
  if (found.sizeBytes !== sizeBytes || found.etag !== etag) {
    found.body.destroy();
    throw new ObjectFailure(
      'its object has changed since it was recorded. If another tool copied the bucket, cadiz admin accept compares the bytes.',
    );
  }
  await makeDurableFolder(dirname(path));
  const draft = `${path}.new`;
  const file = await open(draft, 'w', 0o600);
  const hashes = startHashes();
  try {
    for await (const bytes of receive(storeKey, found.body, onBytes)) {
      await file.writeFile(bytes);
      hashes.update(bytes);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  const arrived = hashes.end();
  const mismatch = findMismatch(object, arrived);
  if (mismatch !== undefined) {
    await rm(draft);
    throw new ObjectFailure(`its object has not arrived as it was recorded: ${mismatch}.`);
  }
  await rename(draft, path);
  await syncFolder(dirname(path));
  return arrived.sha256;
}

/** Removes copies that no backup of the archive names any more, and what was interrupted. */
export async function removeOtherCopies(folder: string, manifest: Manifest): Promise<void> {
  const kept = new Set<string>();
  for await (const { storeKey, sha256 } of readListed(folder, manifest)) if (sha256) kept.add(toCopyPath(storeKey));
  const root = join(folder, objectsName);
  for (const name of await readdir(root, { recursive: true }).catch(() => [])) {
    const path = join(root, name);
    if (kept.has(`${objectsName}/${name}`) || (await stat(path)).isDirectory()) continue;
    await rm(path);
  }
}

/**
 * Reads a copy and compares it with the list.
 * @throws ObjectFailure
 */
export async function checkCopy(folder: string, listed: Listed, onBytes: (bytes: number) => void): Promise<string> {
  const path = join(folder, toCopyPath(listed.storeKey));
  if (listed.sha256 === null) throw new ObjectFailure('its object could not be copied when the backup was made.');
  const facts = await hashFile(path, onBytes);
  if (facts === undefined) throw new ObjectFailure(`its copy ${path} is missing.`);
  if (facts.sizeBytes !== listed.sizeBytes || facts.sha256 !== listed.sha256) {
    throw new ObjectFailure(`its copy ${path} is damaged: its size or its SHA-256 differs.`);
  }
  return path;
}

/** The SHA-256 of a copy that has the bytes of an object; undefined if there is none. */
async function hashCopy(path: string, object: RecordedObject, copied?: string): Promise<string | undefined> {
  if ((await stat(path).catch(() => undefined))?.size !== object.sizeBytes) return undefined;
  const facts = await hashFile(path);
  if (facts === undefined || findMismatch(object, facts) !== undefined) return undefined;
  return copied === undefined || copied === facts.sha256 ? facts.sha256 : undefined;
}

export interface Hashed {
  sizeBytes: number;
  md5: string;
  sha256: string;
}

/** Hashes a file, or a part of it; undefined if there is none. */
export async function hashFile(
  path: string,
  onBytes?: (bytes: number) => void,
  range: { start?: number; end?: number } = {},
): Promise<Hashed | undefined> {
  const hashes = startHashes();
  try {
    for await (const bytes of createReadStream(path, range) as AsyncIterable<Buffer>) {
      hashes.update(bytes);
      onBytes?.(bytes.length);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return hashes.end();
}

/** Hashes what is passed on to `update`. */
export function startHashes() {
  const md5 = createHash('md5');
  const sha256 = createHash('sha256');
  let sizeBytes = 0;
  return {
    update(bytes: Buffer) {
      md5.update(bytes);
      sha256.update(bytes);
      sizeBytes += bytes.length;
    },
    end: (): Hashed => ({ sizeBytes, md5: md5.digest('hex'), sha256: sha256.digest('hex') }),
  };
}

/** The ETag of an object that was sent whole is its MD5, if it looks like one. */
function findMismatch({ sizeBytes, etag, sha256 }: RecordedObject, found: Hashed): string | undefined {
  if (found.sizeBytes !== sizeBytes) return `${found.sizeBytes} bytes instead of ${sizeBytes}`;
  if (sha256 !== undefined) return found.sha256 === sha256 ? undefined : 'its SHA-256 is another';
  return !isMd5(etag) || found.md5 === etag ? undefined : 'its MD5 is another';
}

const isMd5 = (etag: string): boolean => /^[\da-f]{32}$/.test(etag);
