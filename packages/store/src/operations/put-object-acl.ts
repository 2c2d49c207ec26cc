import { takeOwnerAcl } from '../protocol/acl.ts';
import type { Call } from '../protocol/call.ts';
import { requireObject } from './head-object.ts';

/** PUT /bucket/key?acl: accepted if it changes nothing. */
export async function putObjectAcl(call: Call): Promise<void> {
  requireObject(call);
  await takeOwnerAcl(call);
}
