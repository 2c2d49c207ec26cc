import { isCrc } from '../disk/checksum.ts';
import type { Content } from '../disk/index-record.ts';
import type { Call } from './call.ts';
import { namesEtag } from './etag.ts';
import { S3Error } from './s3-error.ts';

/** What must be true of the existing object, checked in the transaction that writes. */
export interface WriteCondition {
  /** `If-None-Match: *` */
  onlyIfAbsent?: boolean;
  /** the value of `If-Match` */
  ifMatch?: string;
  /** An existing object stays, whatever it is; sending the same bytes again is answered as if they had been stored. */
  once?: boolean;
}

/**
 * The conditions sent with a PUT, a copy or the completion of an upload.
 *
 * With `presignedOverwrite: 'deny'`, a presigned URL writes once: otherwise anyone who kept one could later replace
 * an object that others have come to rely on.
 *
 * @throws S3Error NotImplemented
 */
export function readWriteCondition({ headers, verified, store }: Call): WriteCondition {
  for (const name of ['if-modified-since', 'if-unmodified-since']) {
    if (headers[name] !== undefined) throw new S3Error('NotImplemented', `Writing with ${name} is not implemented.`);
  }
  const condition: WriteCondition = {};
  const ifNoneMatch = headers['if-none-match'];
  const ifMatch = headers['if-match'];
  if (ifNoneMatch !== undefined && ifNoneMatch.trim() !== '*') {
    throw new S3Error('NotImplemented', 'If-None-Match of a write can only be *.');
  }
  if (ifNoneMatch !== undefined && ifMatch !== undefined) {
    throw new S3Error('NotImplemented', 'If-Match and If-None-Match cannot both be met: send one of them.');
  }
  if (ifNoneMatch !== undefined) condition.onlyIfAbsent = true;
  if (ifMatch !== undefined) condition.ifMatch = ifMatch;
  if (verified.mode === 'query' && store.presignedOverwrite === 'deny') condition.once = true;
  return condition;
}

/**
 * Whether `next` may replace `before`: true, or false if these bytes are already there and nothing needs to change.
 * Call it in the transaction that writes.
 *
 * @throws S3Error PreconditionFailed, NoSuchKey
 */
export function mayWrite(condition: WriteCondition, before: Content | undefined, next: Content): boolean {
  const { onlyIfAbsent, ifMatch, once } = condition;
  if (!before) {
    if (ifMatch === undefined) return true;
    throw new S3Error('NoSuchKey', 'There is no object with this key, but If-Match was sent.');
  }
  if (onlyIfAbsent) {
    throw new S3Error('PreconditionFailed', 'An object with this key already exists, and If-None-Match: * was sent.');
  }
  if (once) {
    if (haveSameBytes(before, next)) return false;
    throw new S3Error(
      'PreconditionFailed',
      'An object with this key already exists, and a presigned URL of this store writes only once.',
    );
  }
  if (ifMatch === undefined || namesEtag(ifMatch, before.etag, 'strong')) return true;
  throw new S3Error('PreconditionFailed', `The object is not the one named by If-Match: its ETag is "${before.etag}".`);
}

/** Whether it is proved that they have. A CRC proves nothing: other bytes with the same one are easily made. */
function haveSameBytes(before: Content, next: Content): boolean {
  if (before.size !== next.size) return false;
  if (before.etag === next.etag) return true;
  const { checksum } = before;
  if (!checksum || isCrc(checksum.algorithm)) return false;
  return checksum.algorithm === next.checksum?.algorithm && checksum.value === next.checksum.value;
}

/**
 * Refuses early what would be refused anyway once the bytes have arrived, so that the client need not send them.
 *
 * @throws S3Error PreconditionFailed, NoSuchKey
 */
export function requireHopeful(condition: WriteCondition, before: Content | undefined, size: number): void {
  mayWrite(condition, before, { size, etag: before?.etag ?? '' });
}
