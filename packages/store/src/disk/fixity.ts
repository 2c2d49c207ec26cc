import { randomBytes } from 'node:crypto';
import { type Checksum, type ChecksumAlgorithm, isCrc } from './checksum.ts';

/** How stored bytes can be checked: the digest of this name must have this value, as `toValue` writes it. */
export interface Fixity {
  name: ChecksumAlgorithm;
  value: string;
}

/** MD5 in hex, as in an ETag, and others in Base64. */
export function toValue(name: ChecksumAlgorithm, digest: Buffer): string {
  return digest.toString(name === 'MD5' ? 'hex' : 'base64');
}

/**
 * From this size on, the MD5 is not computed of bytes that come with a checksum, since it would take longer than
 * everything else.
 */
const withoutMd5Bytes = 1024 * 1024;

/** Whether the ETag of a body must be its MD5. With `once`, its bytes may be compared with others, and a CRC is no proof. */
export function needsMd5({
  size,
  md5,
  checksum,
  once,
}: {
  size: number;
  md5: string | undefined;
  checksum: { algorithm: ChecksumAlgorithm } | undefined;
  once?: boolean | undefined;
}): boolean {
  if (md5 !== undefined || checksum === undefined || size < withoutMd5Bytes) return true;
  if (checksum.algorithm === 'MD5') return true;
  return once === true && isCrc(checksum.algorithm);
}

/**
 * An ETag that no other bytes have. Its `-1` says that it is not an MD5: clients that compare MD5s take it for that of
 * an object made of one part, and compare nothing ("Common response headers" in the Amazon S3 API reference).
 */
export function makeEtag(): string {
  return `${randomBytes(16).toString('hex')}-1`;
}

/** Of bytes that were received in one piece: by their ETag if it is their MD5, otherwise by their checksum. */
export function fixityOf({ etag, checksum }: { etag: string; checksum?: Checksum | undefined }): Fixity {
  if (/^[0-9a-f]{32}$/.test(etag) || !checksum) return { name: 'MD5', value: etag };
  return fixityOfChecksum(checksum);
}

export function fixityOfChecksum({ algorithm, value }: Checksum): Fixity {
  return { name: algorithm, value: toValue(algorithm, Buffer.from(value, 'base64')) };
}
