import type { IncomingHttpHeaders } from 'node:http';
import type { Checksum } from '../disk/checksum.ts';
import { makeEtag, needsMd5 } from '../disk/fixity.ts';
import type { Content, ObjectRecord } from '../disk/index-record.ts';
import type { PackEntry } from '../disk/packs.ts';
import type { Store } from '../disk/store.ts';
import { type StoredBytes, type Taken, takeIn } from '../disk/take-in.ts';
import { type ChunkedBody, decodeChunks, readChunkedBody } from '../protocol/aws-chunked.ts';
import { type Call, requireBucket, requireKey, sendEmpty } from '../protocol/call.ts';
import {
  checksumHeader,
  type PromisedChecksum,
  readPromisedChecksum,
  requireSame,
  requireWellFormed,
  toChecksumHeaders,
} from '../protocol/checksum-header.ts';
import { noSuchBucket, S3Error } from '../protocol/s3-error.ts';
import { mayWrite, readWriteCondition, requireHopeful, type WriteCondition } from '../protocol/write-condition.ts';

/** What the head of a request promises about its body. */
export interface PromisedBody {
  size: number;
  /** hex */
  md5: string | undefined;
  /** hex */
  sha256: string | undefined;
  checksum: PromisedChecksum | undefined;
  /** how the bytes are framed, if at all */
  chunked: ChunkedBody | undefined;
  /** see WriteCondition */
  once?: boolean | undefined;
}

/**
 * A body that arrived as promised but is not in the index yet. `etag` is its MD5 in hex, or made up if `checksum` is to
 * check it by.
 */
export interface ReceivedBody {
  stored: StoredBytes;
  etag: string;
  checksum?: Checksum;
}

interface Upload extends PromisedBody {
  condition: WriteCondition;
  headers: Record<string, string>;
  metadata: Record<string, string>;
}

export const contentHeaders = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'expires',
];
const maxMetadataBytes = 2048;

/**
 * PUT /bucket/key. Answers 200 once the bytes, the file's name and the index entry are durable; until then readers see
 * the previous object. Conditions (If-Match, If-None-Match) are checked in the transaction.
 *
 * @throws S3Error
 */
export async function putObject(call: Call): Promise<void> {
  const { store } = call;
  requireBucket(call);
  requireKey(call.key);
  const upload = readUpload(call);
  requireHopeful(upload.condition, store.index.findContent(call.bucket, call.key), upload.size);
  const { stored, etag, checksum: received } = await receiveBody(call, upload, true);
  const checksum = received && { ...received, type: 'FULL_OBJECT' as const };
  const record = {
    size: upload.size,
    etag,
    lastModified: Math.floor(store.now() / 1000) * 1000, // S3 has whole seconds; this way every answer shows the same time
    headers: upload.headers,
    metadata: upload.metadata,
    ...(checksum && { checksum }),
  };
  const indexed = await indexObject(call, record, stored, upload.condition);
  sendEmpty(call, 200, { etag: `"${indexed.etag}"`, ...toChecksumHeaders(checksum) });
}

/** @throws S3Error InvalidRequest, MissingContentLength, InvalidArgument, EntityTooLarge, InvalidDigest */
export function readPromisedBody(call: Call): PromisedBody {
  const chunked = readChunkedBody(call);
  return {
    size: chunked
      ? requireSize(chunked.size, call.store.maxObjectBytes)
      : readSize(call.headers, call.store.maxObjectBytes),
    md5: readMd5(call.headers['content-md5']),
    sha256: /^[0-9a-f]{64}$/.test(call.verified.payloadHash) ? call.verified.payloadHash : undefined,
    checksum: readPromisedChecksum(call, chunked?.trailerNames),
    chunked,
  };
}

function readUpload(call: Call): Upload {
  const condition = readWriteCondition(call);
  return {
    ...readPromisedBody(call),
    once: condition.once,
    condition,
    headers: readContentHeaders(call),
    metadata: readMetadata(call.headers),
  };
}

function readSize(headers: IncomingHttpHeaders, maxObjectBytes: number): number {
  const length = headers['content-length'];
  if (headers['transfer-encoding'] !== undefined && length !== undefined) {
    throw new S3Error(
      'InvalidRequest',
      'Content-Length and Transfer-Encoding were both sent: send Content-Length alone.',
    );
  }
  if (length === undefined) {
    throw new S3Error('MissingContentLength', 'Send Content-Length: bodies of unknown length are not accepted.');
  }
  const size = Number(length);
  if (!/^\d+$/.test(length) || !Number.isSafeInteger(size)) {
    throw new S3Error('InvalidArgument', 'Content-Length must be a whole number of bytes.');
  }
  return requireSize(size, maxObjectBytes);
}

function requireSize(size: number, maxObjectBytes: number): number {
  if (size <= maxObjectBytes) return size;
  throw new S3Error('EntityTooLarge', `The body has ${size} bytes, but one PUT can have at most ${maxObjectBytes}.`);
}

function readMd5(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !/^[A-Za-z0-9+/]{22}==$/.test(header)) {
    throw new S3Error('InvalidDigest', 'Content-MD5 must be the Base64 of the 16 bytes of the body’s MD5.');
  }
  return Buffer.from(header, 'base64').toString('hex');
}

/** aws-chunked describes how a request is framed, not the object, so it is not kept. */
export function readContentHeaders({ headers, request }: Pick<Call, 'headers' | 'request'>): Record<string, string> {
  const kept: Record<string, string> = { 'content-type': headers['content-type'] || 'binary/octet-stream' };
  for (const name of contentHeaders) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') kept[name] = value;
  }
  for (const name of ['content-type', ...contentHeaders]) {
    if ((request.headersDistinct[name]?.length ?? 0) > 1)
      throw new S3Error('InvalidRequest', `${name} was sent twice.`);
  }
  const encoding = kept['content-encoding'];
  if (encoding === undefined || !/aws-chunked/i.test(encoding)) return kept;
  const codings = encoding.split(',').map((coding) => coding.trim());
  kept['content-encoding'] = codings
    .filter((coding) => coding !== '' && coding.toLowerCase() !== 'aws-chunked')
    .join(',');
  if (kept['content-encoding'] === '') delete kept['content-encoding'];
  return kept;
}

/** User metadata. The signature check has refused everything that was not signed. */
export function readMetadata(headers: IncomingHttpHeaders): Record<string, string> {
  const storageClass = headers['x-amz-storage-class'];
  if (storageClass !== undefined && storageClass !== 'STANDARD') {
    throw new S3Error('NotImplemented', 'The only storage class is STANDARD.');
  }
  const metadata = new Map<string, string>();
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith('x-amz-meta-') || typeof value !== 'string') continue;
    metadata.set(name.slice('x-amz-meta-'.length), value);
    bytes += name.length - 'x-amz-meta-'.length + value.length;
  }
  // Unlike an assignment, this keeps the name `__proto__`.
  if (bytes <= maxMetadataBytes) return Object.fromEntries(metadata);
  throw new S3Error('MetadataTooLarge', `User metadata has ${bytes} bytes; the limit is ${maxMetadataBytes}.`);
}

/**
 * Receives the body of a request, and checks it against what was promised.
 *
 * @throws NoRoom, or S3Error IncompleteBody, BadDigest, XAmzContentSHA256Mismatch, InvalidRequest
 */
export async function receiveBody(
  { store, request, awaitBody }: Call,
  promised: PromisedBody,
  mayBePacked: boolean,
): Promise<ReceivedBody> {
  const { size, chunked, checksum, sha256 } = promised;
  const { stored, checked } = await takeIn(
    store,
    {
      read: () => {
        awaitBody();
        const bytes: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
        return chunked ? decodeChunks(bytes, chunked) : bytes;
      },
      mostBytes: size,
      digests: [
        ...(needsMd5(promised) ? ['MD5' as const] : []),
        ...(checksum ? [checksum.algorithm] : []),
        ...(sha256 === undefined ? [] : ['SHA256' as const]),
      ],
      mayBePacked,
    },
    (taken) => {
      // A long sync after the last byte does not mean that the client is idle.
      request.socket.setTimeout(0);
      return requirePromised(promised, taken);
    },
  );
  return { stored, ...checked };
}

/** @throws S3Error IncompleteBody, BadDigest, XAmzContentSHA256Mismatch, InvalidRequest */
function requirePromised(promised: PromisedBody, taken: Taken): Omit<ReceivedBody, 'stored'> {
  const { size, md5, sha256, checksum, chunked } = promised;
  if (taken.size !== size) {
    throw new S3Error('IncompleteBody', `The request promised ${size} bytes, but ${taken.size} arrived.`);
  }
  const etag = needsMd5(promised) ? taken.digest('MD5').toString('hex') : makeEtag();
  if (md5 !== undefined && md5 !== etag) {
    throw new S3Error('BadDigest', 'Content-MD5 is not the MD5 of the bytes that arrived.');
  }
  if (sha256 !== undefined && taken.digest('SHA256').toString('hex') !== sha256) {
    throw new S3Error(
      'XAmzContentSHA256Mismatch',
      'x-amz-content-sha256 is not the SHA-256 of the bytes that arrived.',
    );
  }
  return checksum ? { etag, checksum: toChecksum(checksum, taken.digest(checksum.algorithm), chunked) } : { etag };
}

/** @throws S3Error BadDigest, InvalidRequest */
function toChecksum(promised: PromisedChecksum, digest: Buffer, chunked: ChunkedBody | undefined): Checksum {
  const { algorithm, inTrailer } = promised;
  const actual = digest.toString('base64');
  const sent = inTrailer ? chunked?.trailers.get(checksumHeader(algorithm)) : (promised.value ?? actual);
  requireSame({ algorithm, value: requireWellFormed(algorithm, sent) }, actual);
  return { algorithm, value: actual };
}

/**
 * Turns received bytes into the object with this key. A blob that does not become one is removed. Returns the object that
 * has the key then: this one, or the one that stays because it has the same bytes.
 *
 * @throws S3Error NoSuchBucket, PreconditionFailed, NoSuchKey
 */
export async function indexObject(
  { store, bucket, key }: Pick<Call, 'store' | 'bucket' | 'key'>,
  description: Omit<ObjectRecord, 'blob' | 'packed' | 'inline' | 'multipart'>,
  content: StoredBytes,
  condition: WriteCondition,
): Promise<Content> {
  const { index, packs, reaper } = store;
  const mayReplace = (before: Content | undefined) => mayWrite(condition, before, description);
  const put = async (record: ObjectRecord, entry?: PackEntry) => {
    const options = { mayReplace, ...(entry && { entry }) };
    const { outcome, removed, kept } = await index.putObject(bucket, key, record, options);
    if (outcome === 'no-bucket') throw noSuchBucket(bucket);
    void reaper.remove(removed);
    store.onObject(bucket, key);
    return kept ?? record;
  };
  if ('bytes' in content) {
    const entry = await packs.append(index.nameOf(bucket, key), content.bytes);
    try {
      return await put(description, entry);
    } finally {
      packs.settle(entry);
    }
  }
  const { blob } = content;
  try {
    return await put({ ...description, blob });
  } finally {
    await settleBlob(store, blob);
  }
}

/**
 * Decides what becomes of a blob after the attempt to put it into the index. If the disk itself fails, a commit that
 * was reported as failed may still have been made: only the index knows.
 */
export async function settleBlob({ index, blobs, log }: Store, blob: string): Promise<void> {
  try {
    if (index.blobs.has(blob)) blobs.settle(blob);
    else await blobs.abandon(blob);
  } catch (error) {
    log({ level: 'warn', message: 'An abandoned blob stays until the next start.', blob, error: String(error) });
  }
}
