import { type Call, requireBucket, requireKey, sendEmpty } from './call.ts';

/** DELETE /bucket/key: 204 once the removal is durable, also when there was no such object. */
export async function deleteObject(call: Call): Promise<void> {
  requireBucket(call);
  requireKey(call.key);
  const { index, reaper } = call.store;
  void reaper.remove(await index.deleteObject(call.bucket, call.key));
  sendEmpty(call, 204);
}
