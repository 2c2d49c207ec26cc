import { createHash } from 'node:crypto';
import type { ObjectStore } from '../store/object-store.ts';

/** A store that is slower than this counts as stalled. */
const bytesPerMillisecond = 500;
const patienceMilliseconds = 60_000;
/** The longest time that a timer accepts. */
const longestMilliseconds = 2 ** 31 - 1;

/**
 * Reads a whole object and compares its SHA-256. If there is no such object, the state stays `declared`.
 * @throws Problem store_unavailable, the signal's reason, or the error of a body that was cut short
 */
export async function verifySha256(
  objects: ObjectStore,
  file: { store_key: string; file_size: number; sha256: Buffer },
  signal: AbortSignal,
): Promise<'declared' | 'verified' | 'mismatch'> {
  const wanted = patienceMilliseconds + Math.ceil(file.file_size / bytesPerMillisecond);
  const limit = AbortSignal.timeout(Math.min(wanted, longestMilliseconds));
  const object = await objects.read(file.store_key, { signal: AbortSignal.any([signal, limit]) });
  if (!object) return 'declared';
  const digest = createHash('sha256');
  for await (const chunk of object.body) digest.update(chunk);
  return digest.digest().equals(file.sha256) ? 'verified' : 'mismatch';
}
