import { type Call, sendEmpty } from '../protocol/call.ts';
import { noSuchBucket, S3Error } from '../protocol/s3-error.ts';

/**
 * DELETE /bucket: deletes an empty bucket, with its configuration and its uploads under way.
 *
 * @throws S3Error NoSuchBucket, BucketNotEmpty
 */
export async function deleteBucket(call: Call): Promise<void> {
  const { index, reaper } = call.store;
  const { outcome, removed } = await index.deleteBucket(call.bucket);
  if (outcome === 'absent') throw noSuchBucket(call.bucket);
  if (outcome === 'not-empty') {
    throw new S3Error('BucketNotEmpty', `The bucket ${call.bucket} holds objects: remove them first.`);
  }
  void reaper.remove(removed);
  sendEmpty(call, 204);
}
