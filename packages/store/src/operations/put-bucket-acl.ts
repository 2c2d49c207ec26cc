import { takeOwnerAcl } from '../protocol/acl.ts';
import { type Call, requireBucket } from '../protocol/call.ts';

/** PUT /bucket?acl: accepted if it changes nothing. */
export async function putBucketAcl(call: Call): Promise<void> {
  requireBucket(call);
  await takeOwnerAcl(call);
}
