import {
  type Checksum,
  type ChecksumAlgorithm,
  type ChecksumType,
  checksumAlgorithms,
  isCrc,
  type ObjectChecksum,
} from '../disk/checksum.ts';
import type { UploadRecord } from '../disk/index-record.ts';
import type { Call } from './call.ts';
import {
  checksumHeader,
  findAlgorithm,
  type PromisedChecksum,
  readGiven,
  requireAlgorithm,
  requireWellFormed,
} from './checksum-header.ts';
import { S3Error } from './s3-error.ts';
import { textElement } from './xml.ts';

/** The headers that say which checksum a multipart upload will have. */
export const uploadChecksumHeaders = ['x-amz-checksum-algorithm', 'x-amz-checksum-type'];
/** The headers by which a completion says what the object's checksum must be. */
export const completionChecksumHeaders = ['x-amz-checksum-type', ...checksumAlgorithms.map(checksumHeader)];

/**
 * The checksum that an upload is started with: CRC64NVME is FULL_OBJECT, CRC32 and CRC32C are COMPOSITE by
 * default, and the others are COMPOSITE.
 *
 * @throws S3Error InvalidRequest
 */
export function readUploadChecksum({ headers }: Call): UploadRecord['checksum'] {
  const named = headers['x-amz-checksum-algorithm'];
  const wanted = headers['x-amz-checksum-type'];
  if (named === undefined) {
    if (wanted === undefined) return undefined;
    throw new S3Error('InvalidRequest', 'x-amz-checksum-type needs x-amz-checksum-algorithm.');
  }
  const algorithm = requireAlgorithm(String(named));
  const types = typesOf(algorithm);
  const type = types.find((candidate) => wanted === undefined || candidate === String(wanted).toUpperCase());
  if (type) return { algorithm, type };
  throw new S3Error('InvalidRequest', `With ${algorithm}, x-amz-checksum-type can be ${types.join(' or ')}.`);
}

function typesOf(algorithm: ChecksumAlgorithm): ChecksumType[] {
  if (algorithm === 'CRC64NVME') return ['FULL_OBJECT'];
  return isCrc(algorithm) ? ['COMPOSITE', 'FULL_OBJECT'] : ['COMPOSITE'];
}

/**
 * Which checksum a part gets: one that was not sent is computed if the upload needs it.
 *
 * @throws S3Error InvalidRequest
 */
export function choosePartChecksum(
  { checksum }: UploadRecord,
  promised: PromisedChecksum | undefined,
): PromisedChecksum | undefined {
  if (!checksum || promised?.algorithm === checksum.algorithm) return promised;
  if (!promised) return { algorithm: checksum.algorithm };
  const message = `The upload was started with ${checksum.algorithm}, but the part was sent with ${promised.algorithm}.`;
  throw new S3Error('InvalidRequest', message);
}

/** What a completion says the object's checksum must be. @throws S3Error InvalidRequest */
export function readCompletionChecksum(call: Call): { given: Checksum | undefined; type: string | undefined } {
  const type = call.headers['x-amz-checksum-type']?.toString();
  // A composite checksum may end with the number of parts, as S3 returns it.
  const headers = Object.entries(call.headers).map(
    ([name, value]) => [name, typeof value === 'string' ? value.replace(/-\d+$/, '') : value] as const,
  );
  const [given, another] = readGiven(headers);
  if (another) throw new S3Error('InvalidRequest', 'More than one checksum was sent: send one x-amz-checksum-….');
  return { given, type };
}

/** @throws S3Error BadDigest, InvalidRequest */
export function requireCompletionChecksum(
  { given, type }: ReturnType<typeof readCompletionChecksum>,
  actual: ObjectChecksum | undefined,
): void {
  if (type !== undefined && type !== actual?.type) {
    throw new S3Error(
      'InvalidRequest',
      `The upload was started with ${actual?.type ?? 'no'} checksum, not with ${type}.`,
    );
  }
  if (!given) return;
  if (given.algorithm !== actual?.algorithm) {
    throw new S3Error('InvalidRequest', `The upload was started with ${actual?.algorithm ?? 'no'} checksum.`);
  }
  if (given.value === actual.value.replace(/-\d+$/, '')) return;
  throw new S3Error(
    'BadDigest',
    `The ${actual.algorithm} of the object is ${actual.value}, not the one that was sent.`,
  );
}

/** The checksum of a Part in a CompleteMultipartUpload, from an element such as `ChecksumCRC32`. */
export function readPartChecksum(name: string, value: string): Checksum | undefined {
  const algorithm = name.startsWith('Checksum') ? findAlgorithm(name.slice('Checksum'.length)) : undefined;
  return algorithm && { algorithm, value: requireWellFormed(algorithm, value) };
}

/** How a listing describes a checksum: by algorithm and type, without its value. */
export function checksumNames(checksum: { algorithm: ChecksumAlgorithm; type: ChecksumType } | undefined): string[] {
  if (!checksum) return [];
  return [textElement('ChecksumAlgorithm', checksum.algorithm), textElement('ChecksumType', checksum.type)];
}

/** `<ChecksumCRC32>…</ChecksumCRC32>`, or nothing. */
export function checksumElements(checksum: Checksum | undefined): string[] {
  return checksum ? [textElement(`Checksum${checksum.algorithm}`, checksum.value)] : [];
}
