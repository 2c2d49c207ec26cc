import { type Call, sendXml } from '../protocol/call.ts';
import { document, element } from '../protocol/xml.ts';
import { requireObject } from './head-object.ts';

/** GET /bucket/key?tagging: no tags, for tools that copy them with the object. */
export async function getObjectTagging(call: Call): Promise<void> {
  requireObject(call);
  sendXml(call, document('Tagging', [element('TagSet', [])]));
}
