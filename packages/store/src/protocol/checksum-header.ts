import {
  type Checksum,
  type ChecksumAlgorithm,
  checksumAlgorithms,
  checksumBytes,
  checksumOf,
  type ObjectChecksum,
} from '../disk/checksum.ts';
import type { Call } from './call.ts';
import { S3Error } from './s3-error.ts';

/**
 * What a request says about the checksum of its body. If it sends no value, neither in a header nor in a trailer,
 * one is computed.
 */
export interface PromisedChecksum {
  algorithm: ChecksumAlgorithm;
  value?: string;
  inTrailer?: true;
}

/** The headers by which a request protects the bytes of an object; for `amzHeaders` of an operation. */
export const checksumHeaders = ['x-amz-sdk-checksum-algorithm', ...checksumAlgorithms.map(checksumHeader)];

/** Such as `x-amz-checksum-sha256`. */
export function checksumHeader(algorithm: ChecksumAlgorithm): string {
  return `x-amz-checksum-${algorithm.toLowerCase()}`;
}

/** The algorithm with this name, in any case. */
export function findAlgorithm(name: string): ChecksumAlgorithm | undefined {
  return checksumAlgorithms.find((algorithm) => algorithm === name.toUpperCase());
}

/**
 * The algorithm named by `x-amz-checksum-algorithm`.
 *
 * @throws S3Error InvalidRequest
 */
export function requireAlgorithm(name: string): ChecksumAlgorithm {
  const algorithm = findAlgorithm(name);
  if (algorithm) return algorithm;
  throw new S3Error('InvalidRequest', `x-amz-checksum-algorithm must be one of ${checksumAlgorithms.join(', ')}.`);
}

/** Those of S3 that Node cannot compute. */
const otherChecksums = new Set(['xxhash3', 'xxhash64', 'xxhash128'].map((name) => `x-amz-checksum-${name}`));

/**
 * Refuses a header or trailer with a checksum that the store cannot verify.
 *
 * @throws S3Error NotImplemented
 */
export function requireComputable(name: string): void {
  if (!otherChecksums.has(name)) return;
  const known = checksumAlgorithms.join(', ');
  throw new S3Error('NotImplemented', `${name} is not implemented by this store, which computes ${known}.`);
}

/** Whether a field is the checksum of zero bytes. */
export function isChecksumOfNothing(name: string, value: string): boolean {
  const algorithm = checksumAlgorithms.find((known) => checksumHeader(known) === name);
  return algorithm !== undefined && value === checksumOf(algorithm, Buffer.alloc(0));
}

/**
 * The one checksum that a request sends or announces, in a header or, if `trailerNames` has it, in a trailer.
 *
 * @throws S3Error InvalidRequest
 */
export function readPromisedChecksum(
  { headers }: Pick<Call, 'headers'>,
  trailerNames: readonly string[] = [],
): PromisedChecksum | undefined {
  const given: PromisedChecksum[] = [
    ...readGiven(Object.entries(headers)),
    ...checksumAlgorithms
      .filter((algorithm) => trailerNames.includes(checksumHeader(algorithm)))
      .map((algorithm) => ({ algorithm, inTrailer: true as const })),
  ];
  if (given.length > 1)
    throw new S3Error('InvalidRequest', 'More than one checksum was sent: send one x-amz-checksum-….');
  const checksum = given[0];
  const announced = headers['x-amz-sdk-checksum-algorithm'];
  // An MD5 is sent as Content-MD5 by the AWS SDK for JavaScript.
  const found = checksum?.algorithm ?? (headers['content-md5'] === undefined ? undefined : 'MD5');
  if (typeof announced === 'string' && found !== announced.toUpperCase()) {
    const message = `x-amz-sdk-checksum-algorithm says ${announced}: send that checksum, in x-amz-checksum-… or as a trailer.`;
    throw new S3Error('InvalidRequest', message);
  }
  return checksum;
}

/** @throws S3Error InvalidRequest */
export function readGiven(fields: Iterable<readonly [string, unknown]>): Checksum[] {
  const given: Checksum[] = [];
  for (const [name, value] of fields) {
    const algorithm = checksumAlgorithms.find((known) => checksumHeader(known) === name.toLowerCase());
    if (algorithm) given.push({ algorithm, value: requireWellFormed(algorithm, value) });
  }
  return given;
}

/** @throws S3Error InvalidRequest */
export function requireWellFormed(algorithm: ChecksumAlgorithm, value: unknown): string {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'base64') : undefined;
  if (bytes && bytes.length === checksumBytes[algorithm] && bytes.toString('base64') === value) return value;
  const message = `${checksumHeader(algorithm)} must be the Base64 of ${checksumBytes[algorithm]} bytes.`;
  throw new S3Error('InvalidRequest', message);
}

/** @throws S3Error BadDigest */
export function requireSame({ algorithm, value }: Checksum, actual: string): void {
  if (value === actual) return;
  throw new S3Error('BadDigest', `The ${algorithm} of the bytes that arrived is ${actual}, not the one that was sent.`);
}

/** As headers of an answer. */
export function toChecksumHeaders(checksum: ObjectChecksum | undefined): Record<string, string> {
  if (!checksum) return {};
  return { [checksumHeader(checksum.algorithm)]: checksum.value, 'x-amz-checksum-type': checksum.type };
}
