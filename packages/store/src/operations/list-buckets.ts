import { type Call, sendXml } from '../protocol/call.ts';
import { ownerElement } from '../protocol/owner.ts';
import { S3Error } from '../protocol/s3-error.ts';
import { document, element, textElement } from '../protocol/xml.ts';

const maxBuckets = 10_000;

/**
 * GET /: all buckets by name, or those with a prefix or in a region, in pages of `max-buckets`. They are all in the store's.
 *
 * @throws S3Error InvalidArgument
 */
export async function listBuckets(call: Call): Promise<void> {
  const { query, store } = call;
  const prefix = query.get('prefix') ?? '';
  const after = query.get('continuation-token') ?? '';
  const limit = readMaxBuckets(query.get('max-buckets'));
  const isElsewhere = (query.get('bucket-region') ?? store.region) !== store.region;
  const all = isElsewhere ? [] : store.index.buckets();
  const buckets = all.filter(({ name }) => name.startsWith(prefix) && name > after);
  const page = buckets.slice(0, limit);
  const last = buckets.length > limit ? page.at(-1) : undefined;
  const lines = page.map(({ name, record }) => {
    const created = textElement('CreationDate', new Date(record.createdAt).toISOString());
    return element('Bucket', [textElement('Name', name), created, textElement('BucketRegion', store.region)]);
  });
  const children = [ownerElement(), element('Buckets', lines)];
  if (last) children.push(textElement('ContinuationToken', last.name));
  if (prefix !== '') children.push(textElement('Prefix', prefix));
  sendXml(call, document('ListAllMyBucketsResult', children));
}

function readMaxBuckets(text: string | undefined): number {
  if (text === undefined) return maxBuckets;
  const limit = Number(text);
  if (/^\d{1,5}$/.test(text) && limit >= 1 && limit <= maxBuckets) return limit;
  throw new S3Error('InvalidArgument', `max-buckets must be a whole number from 1 to ${maxBuckets}.`);
}
