import type { Checksum, ChecksumAlgorithm } from '../disk/checksum.ts';
import { Damaged } from '../disk/disk-error.ts';
import { fixityOf, toValue } from '../disk/fixity.ts';
import type { ObjectRecord } from '../disk/index-record.ts';
import { type ByteRange, openContent } from '../disk/object-content.ts';
import { type StoredBytes, takeIn } from '../disk/take-in.ts';
import { type Call, isBucketName, requireKey } from '../protocol/call.ts';
import { isUnchanged } from '../protocol/object-answer.ts';
import { S3Error } from '../protocol/s3-error.ts';
import { requireNullVersion } from '../protocol/version-id.ts';

export interface CopySource {
  bucket: string;
  key: string;
}

/** Bytes that were copied, but are not in the index yet. */
export interface CopiedBytes {
  stored: StoredBytes;
  size: number;
  /** hex MD5 */
  etag: string;
  checksum?: Checksum;
  /** the object they come from, as it was at the time */
  source: ObjectRecord;
}

/**
 * The object named by `x-amz-copy-source`: `bucket/key`, with or without a leading slash, percent-encoded.
 *
 * @throws S3Error InvalidArgument, NoSuchVersion
 */
export function readCopySource({ headers }: Call): CopySource {
  const header = String(headers['x-amz-copy-source'] ?? '');
  const [, encoded = '', versionId] = /^\/?(.*?)(?:\?versionId=(.*))?$/s.exec(header) ?? [];
  const path = decode(encoded);
  const slash = path?.indexOf('/') ?? -1;
  if (path === undefined || slash < 1 || slash === path.length - 1) {
    throw new S3Error('InvalidArgument', 'x-amz-copy-source must be bucket/key, percent-encoded.');
  }
  requireNullVersion(versionId);
  const bucket = path.slice(0, slash);
  if (!isBucketName(bucket))
    throw new S3Error('InvalidArgument', 'The bucket in x-amz-copy-source is not a valid bucket name.');
  return { bucket, key: path.slice(slash + 1) };
}

/** Node represents header bytes as Latin-1 characters; unencoded bytes from a client are UTF-8. */
function decode(encoded: string): string | undefined {
  try {
    return decodeURIComponent(Buffer.from(encoded, 'latin1').toString());
  } catch {
    return undefined;
  }
}

/**
 * Copies bytes of the object that the request names, if it meets the request's `x-amz-copy-source-if-…` conditions.
 *
 * @param toRange - which bytes, given the size of the object
 * @param algorithm - of the checksum that the copy should have, if any
 * @throws S3Error NoSuchBucket, NoSuchKey, PreconditionFailed, InvalidRequest
 */
export async function copyBytes(
  call: Call,
  { bucket, key }: CopySource,
  toRange: (size: number) => ByteRange,
  { algorithm, mayBePacked }: { algorithm: ChecksumAlgorithm | undefined; mayBePacked: boolean },
): Promise<CopiedBytes> {
  const { store } = call;
  const { found, content } = await openContent(store, { bucket, key }, () => {
    const record = requireSource(call, bucket, key);
    const range = toRange(record.size);
    return { record, range, found: { source: record, size: range.last - range.first + 1 } };
  });
  try {
    if (found.size > store.maxObjectBytes) {
      const message = `At most ${store.maxObjectBytes} bytes can be copied at once: copy this object in parts.`;
      throw new S3Error('InvalidRequest', message);
    }
    const { source, size } = found;
    // A copy of damaged bytes would look sound. Parts are checked as they are read.
    const expected = !source.multipart && size === source.size ? fixityOf(source) : undefined;
    const { stored, checked } = await takeIn(
      store,
      {
        read: () => content.verified(),
        mostBytes: size,
        digests: ['MD5', ...(algorithm ? [algorithm] : []), ...(expected ? [expected.name] : [])],
        mayBePacked,
      },
      ({ digest }) => {
        if (expected && toValue(expected.name, digest(expected.name)) !== expected.value) throw new Damaged();
        const etag = digest('MD5').toString('hex');
        return { etag, ...(algorithm && { checksum: { algorithm, value: digest(algorithm).toString('base64') } }) };
      },
    );
    return { source, size, stored, ...checked };
  } finally {
    await content.close();
  }
}

function requireSource(call: Call, bucket: string, key: string): ObjectRecord {
  const { index } = call.store;
  requireKey(key);
  if (!index.findBucket(bucket)) throw new S3Error('NoSuchBucket', `There is no bucket named ${bucket}.`);
  const record = index.findObject(bucket, key);
  if (!record) throw new S3Error('NoSuchKey', 'There is no object with the key in x-amz-copy-source.');
  const { headers } = call;
  const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'].map((name) => [
    name,
    headers[`x-amz-copy-source-${name}`],
  ]);
  if (!isUnchanged(Object.fromEntries(conditions), record)) return record;
  throw new S3Error(
    'PreconditionFailed',
    'The object to be copied is excluded by an x-amz-copy-source-if-… condition.',
  );
}
