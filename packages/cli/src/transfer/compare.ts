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

/** Whether a local file and one of the project are the same, so that nothing must be transferred. */
export async function isSame(local: LocalEntry, file: File, direction: Direction, checksum: boolean): Promise<boolean> {
  if (local.size !== file.fileSize) return false;
  const proof = checksum ? proofOf(file) : undefined;
  if (proof) return (await hashFile(local.from, proof.algorithm)) === proof.hex;
  const changed = changedOf(file);
  // What was recorded after its last change is still the same; a download gives a file exactly this time.
  if (changed === undefined && direction === 'up') return local.changed <= Date.parse(file.createdAt);
  return local.changed === timeOf(file);
}

export async function hashFile(path: string, algorithm: string): Promise<string> {
  const hash = createHash(algorithm);
  for await (const bytes of createReadStream(path)) hash.update(bytes);
  return hash.digest('hex');
}
