import { sendOwnerAcl } from '../protocol/acl.ts';
import type { Call } from '../protocol/call.ts';
import { requireObject } from './head-object.ts';

/** GET /bucket/key?acl: full control for the owner. */
export async function getObjectAcl(call: Call): Promise<void> {
  requireObject(call);
  sendOwnerAcl(call);
}
