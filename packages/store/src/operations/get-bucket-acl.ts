import { sendOwnerAcl } from '../protocol/acl.ts';
import { type Call, requireBucket } from '../protocol/call.ts';

/** GET /bucket?acl: full control for the owner. */
export async function getBucketAcl(call: Call): Promise<void> {
  requireBucket(call);
  sendOwnerAcl(call);
}
