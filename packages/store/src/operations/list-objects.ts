import { type Call, sendXml } from '../protocol/call.ts';
import { ownerElement } from '../protocol/owner.ts';
import { document, textElement } from '../protocol/xml.ts';
import { afterMarker, linesToXml, readListing, readPage } from './list-page.ts';

/**
 * GET /bucket: the older listing, which continues after a key. As on S3, NextMarker is sent only with a delimiter;
 * without one, it is the last key.
 *
 * @throws S3Error NoSuchBucket, InvalidArgument
 */
export async function listObjects(call: Call): Promise<void> {
  const listing = readListing(call);
  const marker = call.query.get('marker') ?? '';
  const { page, last } = readPage(call, listing, afterMarker(marker, listing));

  const children = [...listing.echo, textElement('Marker', listing.encode(marker))];
  children.push(textElement('IsTruncated', last !== undefined));
  if (last && listing.delimiter !== '') children.push(textElement('NextMarker', listing.encode(last.key.toString())));
  const lines = linesToXml(page, listing, 'Contents', [ownerElement()]);
  sendXml(call, document('ListBucketResult', [...children, ...lines]));
}
