import { type Call, sendEmpty } from '../protocol/call.ts';
import { requireObject } from './head-object.ts';

/** DELETE /bucket/key?tagging: there are never any tags to delete. */
export async function deleteObjectTagging(call: Call): Promise<void> {
  requireObject(call);
  sendEmpty(call, 204);
}
