import { type Call, requireBucket, sendXml } from '../protocol/call.ts';
import { document, escapeText } from '../protocol/xml.ts';

/** GET /bucket?location: the store's region; as on S3, an empty element stands for us-east-1. */
export async function getBucketLocation(call: Call): Promise<void> {
  requireBucket(call);
  const { region } = call.store;
  sendXml(call, document('LocationConstraint', region === 'us-east-1' ? [] : [escapeText(region)]));
}
