import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { File } from '@cadiz/client';
import { proofOf } from './bytes.ts';
import type { LocalEntry } from './local-tree.ts';

/** The fact in a file's metadata that says when the local file was changed that it came from; rclone calls it the same. */
export const changedFact = 'mtime';

/** When the content of a file was changed, in milliseconds; undefined if only the time of its recording is known. */
export function changedOf({ metadata }: Pick<File, 'metadata'>): number | undefined {
  const fact = metadata[changedFact];
  const time = typeof fact === 'string' ? Date.parse(fact) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

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
  const hasProvenBytes = async () => !!proof && (await hashFile(local.from, proof.algorithm)) === proof.hex;
  if (checksum && proof) return hasProvenBytes();
  if (local.changed === timeOf(file)) return true;
  // The time of its recording says nothing about a file that was not downloaded: only its bytes do.
  return direction === 'up' && changedOf(file) === undefined && hasProvenBytes();
}

export async function hashFile(path: string, algorithm: string): Promise<string> {
  const hash = createHash(algorithm);
  for await (const bytes of createReadStream(path)) hash.update(bytes);
  return hash.digest('hex');
}
