import { type Call, sendXml } from '../protocol/call.ts';
import { ownerElement } from '../protocol/owner.ts';
import { S3Error } from '../protocol/s3-error.ts';
import { requireNullVersion } from '../protocol/version-id.ts';
import { document, textElement } from '../protocol/xml.ts';
import { afterMarker, linesToXml, readListing, readPage } from './list-page.ts';

/**
 * GET /bucket?versions: every object as its one version, "null", as in a bucket that was never versioned.
 *
 * @throws S3Error NoSuchBucket, InvalidArgument, NoSuchVersion
 */
export async function listObjectVersions(call: Call): Promise<void> {
  const { query } = call;
  const listing = readListing(call);
  const keyMarker = query.get('key-marker') ?? '';
  const versionMarker = query.get('version-id-marker');
  if (versionMarker && keyMarker === '') {
    throw new S3Error('InvalidArgument', 'A version-id-marker needs a key-marker.');
  }
  if (versionMarker) requireNullVersion(versionMarker);
  // Each key has one version, so the marker's version is the last of its key, with or without a version-id-marker.
  const { page, last } = readPage(call, listing, afterMarker(keyMarker, listing));

  const children = [...listing.echo, textElement('KeyMarker', listing.encode(keyMarker))];
  children.push(textElement('VersionIdMarker', versionMarker ?? ''), textElement('IsTruncated', last !== undefined));
  if (last) {
    children.push(textElement('NextKeyMarker', listing.encode(last.key.toString())));
    if (last.kind === 'object') children.push(textElement('NextVersionIdMarker', 'null'));
  }
  const more = [textElement('VersionId', 'null'), textElement('IsLatest', true), ownerElement()];
  sendXml(call, document('ListVersionsResult', [...children, ...linesToXml(page, listing, 'Version', more)]));
}
