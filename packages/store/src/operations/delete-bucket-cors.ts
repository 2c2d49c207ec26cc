import { type Call, sendEmpty } from '../protocol/call.ts';
import { noSuchBucket } from '../protocol/s3-error.ts';

/**
 * DELETE /bucket?cors: from now on every origin may read answers again.
 *
 * @throws S3Error NoSuchBucket
 */
export async function deleteBucketCors(call: Call): Promise<void> {
  const found = await call.store.index.updateBucket(call.bucket, ({ cors: _, ...record }) => record);
  if (!found) throw noSuchBucket(call.bucket);
  sendEmpty(call, 204);
}
