import type { Content } from '../disk/index-record.ts';
import type { Call } from './call.ts';
import { namesEtag } from './etag.ts';
import { S3Error } from './s3-error.ts';

/** What must be true of the object that is there, decided in the transaction that writes. */
export interface WriteCondition {
  /** `If-None-Match: *` */
  onlyIfAbsent?: boolean;
  /** the value of `If-Match` */
  ifMatch?: string;
  /** An object that is there stays, whatever it is; sending the same bytes again is answered as if they had been stored. */
  once?: boolean;
}

/**
 * The conditions that a PUT, a copy or the completion of an upload was sent with.
 *
 * Where the store is told so (`presignedOverwrite: 'deny'`), a presigned address writes once: whoever keeps one until its
 * object is in use could otherwise replace what others have come to rely on.
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
 * Whether `next` may be written over `before`: true, or false when these bytes are there already and nothing is to be
 * changed. To be called in the transaction that writes.
 *
 * @throws S3Error PreconditionFailed, NoSuchKey
 */
export function mayWrite(condition: WriteCondition, before: Content | undefined, next: Content): boolean {
  const { onlyIfAbsent, ifMatch, once } = condition;
  if (!before) {
    if (ifMatch === undefined) return true;
    throw new S3Error('NoSuchKey', 'There is no object with this key, and If-Match was given.');
  }
  if (onlyIfAbsent) {
    throw new S3Error(
      'PreconditionFailed',
      'There is an object with this key already, and If-None-Match: * was given.',
    );
  }
  if (once) {
    if (before.etag === next.etag && before.size === next.size) return false;
    throw new S3Error(
      'PreconditionFailed',
      'There is an object with this key already: a presigned address of this store writes once.',
    );
  }
  if (ifMatch === undefined || namesEtag(ifMatch, before.etag, 'strong')) return true;
  throw new S3Error(
    'PreconditionFailed',
    `The object is not the one that If-Match names: its ETag is "${before.etag}".`,
  );
}

/**
 * Refuses what will surely be refused once the bytes have arrived, so that a client need not send them.
 *
 * @throws S3Error PreconditionFailed, NoSuchKey
 */
export function requireHopeful(condition: WriteCondition, before: Content | undefined, size: number): void {
  mayWrite(condition, before, { size, etag: before?.etag ?? '' });
}
