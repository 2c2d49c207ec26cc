import { type Call, sendEmpty } from '../protocol/call.ts';
import { noSuchBucket, S3Error } from '../protocol/s3-error.ts';

/**
 * DELETE /bucket: deletes an empty bucket, with its configuration and its uploads under way. If an object arrives
 * meanwhile, the bucket stays, and some of the uploads are gone.
 *
 * @throws S3Error NoSuchBucket, BucketNotEmpty
 */
export async function deleteBucket(call: Call): Promise<void> {
  const { index, reaper } = call.store;
  let outcome: Awaited<ReturnType<typeof index.deleteBucket>>['outcome'];
  do {
    const deleted = await index.deleteBucket(call.bucket);
    void reaper.remove(deleted.removed);
    outcome = deleted.outcome;
  } while (outcome === 'begun');
  if (outcome === 'absent') throw noSuchBucket(call.bucket);
  if (outcome === 'not-empty') {
    throw new S3Error('BucketNotEmpty', `The bucket ${call.bucket} holds objects: remove them first.`);
  }
  sendEmpty(call, 204);
}
