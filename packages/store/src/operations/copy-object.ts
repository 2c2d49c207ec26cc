import type { ChecksumAlgorithm, ObjectChecksum } from '../disk/checksum.ts';
import type { ObjectRecord } from '../disk/index-record.ts';
import { type Call, requireBucket, requireKey } from '../protocol/call.ts';
import { requireAlgorithm } from '../protocol/checksum-header.ts';
import { checksumElements } from '../protocol/multipart-checksum.ts';
import { S3Error } from '../protocol/s3-error.ts';
import { sendXmlWhenDone } from '../protocol/slow-answer.ts';
import { readWriteCondition, requireHopeful } from '../protocol/write-condition.ts';
import { document, textElement } from '../protocol/xml.ts';
import { type CopySource, copyBytes, readCopySource } from './copy-source.ts';
import { wholeSeconds } from './multipart-upload.ts';
import { indexObject, readContentHeaders, readMetadata } from './put-object.ts';

/**
 * PUT /bucket/key with `x-amz-copy-source`: an object with the bytes of another one, and with its headers and metadata
 * or, if `x-amz-metadata-directive` is REPLACE, those of the request. The copy's ETag is the MD5 of its bytes, even if
 * the source was uploaded in parts.
 *
 * @throws S3Error NoSuchKey, InvalidArgument, InvalidRequest, PreconditionFailed
 */
export function copyObject(call: Call): Promise<void> {
  return sendXmlWhenDone(call, () => copy(call));
}

async function copy(call: Call): Promise<string> {
  const { bucket, key, store } = call;
  requireBucket(call);
  requireKey(key);
  const named = readCopySource(call);
  const condition = readWriteCondition(call);
  const replaced = readReplaced(call, named);
  const before = store.index.findContent(bucket, key);
  requireHopeful(condition, before, before?.size ?? 0);
  const algorithm = readCopyAlgorithm(call);
  const whole = (length: number) => ({ first: 0, last: length - 1 });
  const copied = await copyBytes(call, named, whole, { algorithm, mayBePacked: true });
  const { stored, size, etag, source } = copied;
  const { headers, metadata } = replaced ?? source;
  const checksum = copied.checksum ? { ...copied.checksum, type: 'FULL_OBJECT' as const } : keptChecksum(source);
  const lastModified = wholeSeconds(store.now());
  const description = { size, etag, lastModified, headers, metadata, ...(checksum && { checksum }) };
  const indexed = await indexObject(call, description, stored, condition);
  const children = [
    textElement('LastModified', new Date(lastModified).toISOString()),
    textElement('ETag', `"${indexed.etag}"`),
    ...checksumElements(checksum),
    ...(checksum ? [textElement('ChecksumType', checksum.type)] : []),
  ];
  return document('CopyObjectResult', children);
}

/** @throws S3Error InvalidRequest */
function readCopyAlgorithm({ headers }: Call): ChecksumAlgorithm | undefined {
  const named = headers['x-amz-checksum-algorithm'];
  return named === undefined ? undefined : requireAlgorithm(String(named));
}

/** A checksum of the parts' checksums does not apply to a copy, which has no parts. */
function keptChecksum({ checksum }: ObjectRecord): ObjectChecksum | undefined {
  return checksum?.type === 'FULL_OBJECT' ? checksum : undefined;
}

/** The headers and metadata of the request, if they replace those of the source. */
function readReplaced(call: Call, source: CopySource) {
  const { headers, bucket, key } = call;
  const directive = headers['x-amz-metadata-directive'] ?? 'COPY';
  const metadata = readMetadata(headers); // which also refuses unknown storage classes
  if (directive === 'REPLACE') return { headers: readContentHeaders(call), metadata };
  if (directive !== 'COPY') {
    throw new S3Error('InvalidArgument', 'x-amz-metadata-directive must be COPY or REPLACE.');
  }
  if (source.bucket !== bucket || source.key !== key) return undefined;
  const message = 'An object can be copied onto itself only with x-amz-metadata-directive: REPLACE.';
  throw new S3Error('InvalidRequest', message);
}
