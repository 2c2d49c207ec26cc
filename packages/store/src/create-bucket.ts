import { createHash } from 'node:crypto';
import { type Call, sendEmpty } from './call.ts';
import { S3Error } from './s3-error.ts';

const MAX_BODY_BYTES = 4096;

/**
 * PUT /bucket. A bucket that exists is answered 200 in us-east-1 and 409 elsewhere, as on S3.
 *
 * @throws S3Error BucketAlreadyOwnedByYou, InvalidLocationConstraint, InvalidRequest, XAmzContentSHA256Mismatch
 */
export async function createBucket(call: Call): Promise<void> {
  const { index, region, now } = call.store;
  requireOwnRegion(await readConfiguration(call), region);
  const created = await index.createBucket(call.bucket, { createdAt: now() });
  if (!created && region !== 'us-east-1') {
    throw new S3Error('BucketAlreadyOwnedByYou', `The bucket ${call.bucket} is there already, and yours.`);
  }
  sendEmpty(call, 200, { location: `/${call.bucket}` });
}

async function readConfiguration(call: Call): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  call.awaitBody();
  for await (const chunk of call.request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES)
      throw new S3Error('EntityTooLarge', `At most ${MAX_BODY_BYTES} bytes are allowed here.`);
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  const { payloadHash } = call.verified;
  if (/^[0-9a-f]{64}$/.test(payloadHash) && createHash('sha256').update(body).digest('hex') !== payloadHash) {
    throw new S3Error('XAmzContentSHA256Mismatch', 'The body is not the one that was signed.');
  }
  return body.toString();
}

/** The one thing a configuration may say here is the region that the store has anyway. */
function requireOwnRegion(configuration: string, region: string): void {
  if (configuration.trim() === '') return;
  const shape =
    /^\s*(?:<\?xml[^>]*\?>\s*)?<CreateBucketConfiguration[^>]*>\s*<LocationConstraint>([^<&]*)<\/LocationConstraint>\s*<\/CreateBucketConfiguration>\s*$/;
  const match = shape.exec(configuration);
  if (!match) throw new S3Error('InvalidRequest', 'Only a LocationConstraint may be given for a new bucket.');
  if (match[1] === region) return;
  throw new S3Error('InvalidLocationConstraint', `This store is in the region ${region}.`);
}
