import { type Call, sendEmpty } from '../protocol/call.ts';
import { requireObject } from './head-object.ts';

/** DELETE /bucket/key?tagging: there are no tags that would have to go. */
export async function deleteObjectTagging(call: Call): Promise<void> {
  requireObject(call);
  sendEmpty(call, 204);
}
