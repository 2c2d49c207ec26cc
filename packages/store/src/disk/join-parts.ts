import { createHash } from 'node:crypto';
import { isCrc, type ObjectChecksum, openDigest } from './checksum.ts';
import { combineCrcs } from './crc.ts';
import type { PartRecord } from './index-record.ts';

/**
 * The ETag of an object that these parts become, as S3 computes it: the MD5 of their MD5s, and how many there are. Of a part
 * whose ETag is made up, the hex digits count.
 */
export function joinEtags(parts: readonly { etag: string }[]): string {
  const md5 = createHash('md5');
  for (const { etag } of parts) md5.update(etag, 'hex');
  return `${md5.digest('hex')}-${parts.length}`;
}

/** The checksum of an object that these parts become; undefined if one of them has no checksum of this algorithm. */
export function joinChecksums(
  { algorithm, type }: Omit<ObjectChecksum, 'value'>,
  parts: readonly Pick<PartRecord, 'checksum' | 'size'>[],
): ObjectChecksum | undefined {
  const pieces: { digest: Buffer; size: number }[] = [];
  for (const { checksum, size } of parts) {
    if (checksum?.algorithm !== algorithm) return undefined;
    pieces.push({ digest: Buffer.from(checksum.value, 'base64'), size });
  }
  if (type === 'FULL_OBJECT' && isCrc(algorithm)) {
    return { algorithm, type, value: combineCrcs(algorithm, pieces).toString('base64') };
  }
  const whole = openDigest(algorithm);
  for (const { digest } of pieces) whole.update(digest);
  return { algorithm, type, value: `${whole.digest().toString('base64')}-${pieces.length}` };
}
