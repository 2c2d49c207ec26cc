import { createHash } from 'node:crypto';
import { type CrcAlgorithm, openCrc } from './crc.ts';

/** Those of S3 without xxHash, which Node cannot compute ("Checking object integrity" in the Amazon S3 user guide). */
export const checksumBytes = { CRC32: 4, CRC32C: 4, CRC64NVME: 8, MD5: 16, SHA1: 20, SHA256: 32, SHA512: 64 } as const;

export type ChecksumAlgorithm = keyof typeof checksumBytes;
export const checksumAlgorithms = Object.keys(checksumBytes) as ChecksumAlgorithm[];

/** A checksum of some bytes. `value` is in base64. */
export interface Checksum {
  algorithm: ChecksumAlgorithm;
  value: string;
}

/** Of the whole object's bytes, or of its parts' checksums; `value` then ends with `-<parts>`. */
export type ChecksumType = 'FULL_OBJECT' | 'COMPOSITE';

export interface ObjectChecksum extends Checksum {
  type: ChecksumType;
}

/** A running checksum; call `digest` once. */
export function openDigest(algorithm: ChecksumAlgorithm): { update(chunk: Buffer): unknown; digest(): Buffer } {
  return isCrc(algorithm) ? openCrc(algorithm) : createHash(algorithm.toLowerCase());
}

/** CRCs of parts can be combined to that of the whole; but other bytes with the same one are easily made. */
export function isCrc(algorithm: ChecksumAlgorithm): algorithm is CrcAlgorithm {
  return algorithm.startsWith('CRC');
}

/** @returns the checksum in base64 */
export function checksumOf(algorithm: ChecksumAlgorithm, bytes: Buffer): string {
  const digest = openDigest(algorithm);
  digest.update(bytes);
  return digest.digest().toString('base64');
}
