import type { CorsRule } from '../disk/index-record.ts';
import { type Call, sendXml } from '../protocol/call.ts';
import { noSuchBucket, S3Error } from '../protocol/s3-error.ts';
import { document, element, textElement } from '../protocol/xml.ts';

/**
 * GET /bucket?cors: the rules as they were put.
 *
 * @throws S3Error NoSuchBucket, NoSuchCORSConfiguration
 */
export async function getBucketCors(call: Call): Promise<void> {
  const bucket = call.store.index.findBucket(call.bucket);
  if (!bucket) throw noSuchBucket(call.bucket);
  if (!bucket.cors) {
    throw new S3Error(
      'NoSuchCORSConfiguration',
      'The bucket has no CORS rules of its own: every origin may read answers.',
    );
  }
  sendXml(call, document('CORSConfiguration', bucket.cors.map(toXml)));
}

function toXml(rule: CorsRule): string {
  const all = (name: string, values: readonly string[]) => values.map((value) => textElement(name, value));
  return element('CORSRule', [
    ...(rule.id === undefined ? [] : [textElement('ID', rule.id)]),
    ...all('AllowedOrigin', rule.allowedOrigins),
    ...all('AllowedMethod', rule.allowedMethods),
    ...all('AllowedHeader', rule.allowedHeaders),
    ...all('ExposeHeader', rule.exposeHeaders),
    ...(rule.maxAgeSeconds === undefined ? [] : [textElement('MaxAgeSeconds', rule.maxAgeSeconds)]),
  ]);
}
