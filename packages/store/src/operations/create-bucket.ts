import { type Call, sendEmpty } from '../protocol/call.ts';
import { parseDocument, readBody } from '../protocol/request-body.ts';
import { S3Error } from '../protocol/s3-error.ts';

const maxBodyBytes = 4096;
const reservedBeginnings = ['xn--', 'sthree-', 'amzn-s3-demo-'];
const reservedEnds = ['-s3alias', '--ol-s3', '.mrap', '--x-s3', '--table-s3', '-an'];

/**
 * PUT /bucket. If the bucket exists, the answer is 200 in us-east-1 and 409 elsewhere, as on S3.
 *
 * @throws S3Error InvalidBucketName, BucketAlreadyOwnedByYou, InvalidLocationConstraint, MalformedXML, NotImplemented
 */
export async function createBucket(call: Call): Promise<void> {
  const { index, region, now } = call.store;
  // A bucket created before its name was reserved stays valid.
  if (!index.findBucket(call.bucket)) requireUnreserved(call.bucket);
  requireOwnRegion(await readBody(call, maxBodyBytes), region);
  const created = await index.createBucket(call.bucket, { createdAt: now() });
  if (!created && region !== 'us-east-1') {
    throw new S3Error('BucketAlreadyOwnedByYou', `The bucket ${call.bucket} already exists, and it is yours.`);
  }
  sendEmpty(call, 200, { location: `/${call.bucket}` });
}

/**
 * Names that S3 refuses for a new bucket although their characters are valid (Amazon S3, "General purpose bucket
 * naming rules").
 */
function requireUnreserved(name: string): void {
  if (/^\d{1,3}(?:\.\d{1,3}){3}$/.test(name)) {
    throw new S3Error('InvalidBucketName', 'A bucket name must not look like an IP address. Choose another name.');
  }
  const beginning = reservedBeginnings.find((reserved) => name.startsWith(reserved));
  const end = reservedEnds.find((reserved) => name.endsWith(reserved));
  if (beginning === undefined && end === undefined) return;
  const what = beginning === undefined ? `ending in "${end}"` : `beginning with "${beginning}"`;
  throw new S3Error('InvalidBucketName', `Bucket names ${what} are reserved by S3. Choose another name.`);
}

/** The only thing a configuration may say here is the store's own region. */
function requireOwnRegion(body: Buffer, region: string): void {
  if (body.toString().trim() === '') return;
  const { name, children } = parseDocument(body);
  const constraint = children.find((child) => child.name === 'LocationConstraint')?.text ?? region;
  if (name !== 'CreateBucketConfiguration') {
    throw new S3Error('MalformedXML', 'Send a CreateBucketConfiguration, or no body.');
  }
  if (children.some((child) => child.name !== 'LocationConstraint')) {
    throw new S3Error('NotImplemented', 'A CreateBucketConfiguration can only have a LocationConstraint.');
  }
  if (constraint === region) return;
  throw new S3Error('InvalidLocationConstraint', `This store is in the region ${region}.`);
}
