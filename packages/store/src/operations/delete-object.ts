import type { DeleteOutcome, Deletion } from '../disk/index-db.ts';
import { type Call, requireBucket, requireKey, sendEmpty } from '../protocol/call.ts';
import { namesEtag } from '../protocol/etag.ts';
import { S3Error } from '../protocol/s3-error.ts';
import { requireNullVersion } from '../protocol/version-id.ts';

/**
 * DELETE /bucket/key: 204 once the deletion is durable, or if there was no such object. If-Match is checked in the
 * transaction.
 *
 * @throws S3Error NoSuchBucket, NoSuchVersion, PreconditionFailed, NoSuchKey
 */
export async function deleteObject(call: Call): Promise<void> {
  requireBucket(call);
  requireKey(call.key);
  const { index, reaper } = call.store;
  requireNullVersion(call.query.get('versionId'));
  const deletion = toDeletion(call.key, call.headers['if-match']);
  const { outcomes, removed } = await index.deleteObjects(call.bucket, [deletion]);
  void reaper.remove(removed);
  const refusal = toRefusal(outcomes[0]);
  if (refusal) throw refusal;
  sendEmpty(call, 204);
}

/** @param ifMatch - the value of If-Match, if sent */
export function toDeletion(key: string, ifMatch: string | undefined): Deletion {
  return { key, ...(ifMatch !== undefined && { isMeant: ({ etag }) => namesEtag(ifMatch, etag, 'strong') }) };
}

/** The error for an object that was not deleted. */
export function toRefusal(outcome: DeleteOutcome | undefined): S3Error | undefined {
  if (outcome === 'absent') return new S3Error('NoSuchKey', 'There is no object with this key, but If-Match was sent.');
  if (outcome !== 'changed') return undefined;
  return new S3Error('PreconditionFailed', 'The object is not the one named by If-Match. It was not removed.');
}
