import { type Call, sendXml } from '../protocol/call.ts';
import { ownerElement } from '../protocol/owner.ts';
import { notImplemented, S3Error } from '../protocol/s3-error.ts';
import { document, textElement } from '../protocol/xml.ts';
import { after, afterLine, linesToXml, readListing, readPage } from './list-page.ts';

/**
 * GET /bucket?list-type=2: objects in the byte order of their UTF-8 keys.
 *
 * @throws S3Error NoSuchBucket, InvalidArgument, NotImplemented
 */
export async function listObjectsV2(call: Call): Promise<void> {
  const { query } = call;
  if (query.get('list-type') !== '2') throw notImplemented(`Listing objects with list-type=${query.get('list-type')}`);
  const listing = readListing(call);
  const token = query.get('continuation-token');
  const startAfter = query.get('start-after');
  const from = token !== undefined ? readToken(token) : startAfter ? after(Buffer.from(startAfter)) : Buffer.alloc(0);
  const { page, last } = readPage(call, listing, from);

  const children = [...listing.echo, textElement('KeyCount', page.length)];
  children.push(textElement('IsTruncated', last !== undefined));
  if (token !== undefined) children.push(textElement('ContinuationToken', token));
  if (startAfter !== undefined) children.push(textElement('StartAfter', listing.encode(startAfter)));
  if (last) children.push(textElement('NextContinuationToken', toToken(afterLine(last))));
  const owner = query.get('fetch-owner') === 'true' ? [ownerElement()] : [];
  sendXml(call, document('ListBucketResult', [...children, ...linesToXml(page, listing, 'Contents', owner)]));
}

/** A token is the position to continue from; its form may change. */
function toToken(from: Buffer): string {
  return from.toString('base64url');
}

function readToken(token: string): Buffer {
  const from = Buffer.from(token, 'base64url');
  if (from.length > 0 && from.length <= 1025 && toToken(from) === token) return from;
  throw new S3Error('InvalidArgument', 'This continuation token was not issued by this store.');
}
