import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { File, Metadata } from '@cadiz/client';
import { proofOf, toMd5 } from './bytes.ts';
import type { LocalEntry } from './local-tree.ts';

/** The fact in a file's metadata that says when the local file was changed that it came from; rclone calls it the same. */
export const changedFact = 'mtime';

/**
 * The fact that says which bytes that time is of: their SHA-256 or MD5 in hex. A file that takes the place of another one
 * inherits its facts, unless it is given others.
 */
export const changedBytesFact = 'mtime-of';

/** @param bytes their SHA-256 or MD5 in hex, if it is known */
export const toChangedFacts = (changed: number, bytes: string | undefined): Metadata => ({
  [changedFact]: new Date(changed).toISOString(),
  ...(bytes !== undefined && { [changedBytesFact]: bytes }),
});

/** The facts of a file that say when it was changed. */
type Changed = Pick<File, 'metadata' | 'sha256' | 'etag'>;

/** When the content of a file was changed, in milliseconds; undefined if only the time of its recording is known. */
export function changedOf(file: Changed): number | undefined {
  const fact = file.metadata[changedFact];
  const time = typeof fact === 'string' && isOfItsBytes(file) ? Date.parse(fact) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** False if its time of the last change is known to be that of other bytes. */
function isOfItsBytes({ metadata, sha256, etag }: Changed): boolean {
  const hex = metadata[changedBytesFact];
  if (typeof hex !== 'string') return true;
  return hex.length === sha256Length ? hex === sha256 : hex === (toMd5(etag) ?? hex);
}

const sha256Length = 64;

/** The time that a downloaded file gets. */
export const timeOf = (file: File): number => changedOf(file) ?? Date.parse(file.createdAt);

export type Direction = 'up' | 'down';

/**
 * Whether a local file and one of the project are the same, so that nothing must be transferred.
 *
 * @throws errors of the file system if the local file must be read and cannot be
 */
export async function isSame(local: LocalEntry, file: File, direction: Direction, checksum: boolean): Promise<boolean> {
  if (local.size !== file.fileSize) return false;
  const proof = proofOf(file);
  const hasProvenBytes = async () => !!proof && (await hashFile(local.from, proof.algorithm, local.size)) === proof.hex;
  if (checksum && proof) return hasProvenBytes();
  if (local.changed === timeOf(file)) return true;
  // The time of its recording says nothing about a file that was not downloaded: only its bytes do.
  if (direction === 'up' && changedOf(file) === undefined) return hasProvenBytes();
  return isRounded(local.changed, timeOf(file));
}

/** The milliseconds to which file systems round times: exFAT to ten, HFS+ to whole seconds, FAT to every second one. */
const roundedTo = [10, 1000, 2000];

/** Whether a time of this machine may be what its file system has made of another one. */
const isRounded = (here: number, time: number): boolean =>
  roundedTo.some((step) => here % step === 0 && Math.abs(here - time) < step);

/** @param size how many bytes it has: what is written to its end meanwhile could go on without end */
export async function hashFile(path: string, algorithm: string, size: number): Promise<string> {
  const hash = createHash(algorithm);
  for await (const bytes of createReadStream(path, { end: Math.max(0, size - 1) })) hash.update(bytes);
  return hash.digest('hex');
}
