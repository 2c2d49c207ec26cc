import { type Call, requireBucket, sendEmpty } from '../protocol/call.ts';

/** HEAD /bucket: 200 or 404. */
export async function headBucket(call: Call): Promise<void> {
  requireBucket(call);
  sendEmpty(call, 200, { 'x-amz-bucket-region': call.store.region });
}
