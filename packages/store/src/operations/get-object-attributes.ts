import type { ObjectRecord } from '../disk/index-record.ts';
import { partsAt } from '../disk/upload-index.ts';
import { type Call, sendXml } from '../protocol/call.ts';
import { checksumElements } from '../protocol/multipart-checksum.ts';
import { S3Error } from '../protocol/s3-error.ts';
import { document, element, textElement } from '../protocol/xml.ts';
import { requireObject } from './head-object.ts';
import { readCount } from './list-parts.ts';

const attributes = ['ETag', 'Checksum', 'ObjectParts', 'StorageClass', 'ObjectSize'] as const;
type Attribute = (typeof attributes)[number];

const maxParts = 1000;

/**
 * GET /bucket/key?attributes: those of ETag, checksum, parts, storage class and size that `x-amz-object-attributes`
 * names. Parts are counted in the order of the object, as by `partNumber` of GetObject, and are listed if they have
 * checksums, as on S3; their number is always included.
 *
 * @throws S3Error NoSuchKey, NoSuchVersion, InvalidArgument
 */
export async function getObjectAttributes(call: Call): Promise<void> {
  const wanted = readAttributes(call);
  const record = requireObject(call);
  const { etag, size, checksum } = record;
  const elements: Record<Attribute, () => string[]> = {
    // Without quotes here, unlike everywhere else, as on S3.
    ETag: () => [textElement('ETag', etag)],
    Checksum: () =>
      checksum
        ? [element('Checksum', [...checksumElements(checksum), textElement('ChecksumType', checksum.type)])]
        : [],
    ObjectParts: () => partsElement(call, record),
    StorageClass: () => [textElement('StorageClass', 'STANDARD')],
    ObjectSize: () => [textElement('ObjectSize', size)],
  };
  call.response.setHeader('last-modified', new Date(record.lastModified).toUTCString());
  const children = attributes.filter((name) => wanted.has(name)).flatMap((name) => elements[name]());
  sendXml(call, document('GetObjectAttributesResponse', children));
}

function readAttributes({ headers }: Call): ReadonlySet<string> {
  const header = String(headers['x-amz-object-attributes'] ?? '');
  const names = header.split(',').map((name) => name.trim());
  if (names.every((name) => attributes.some((known) => known === name))) return new Set(names);
  throw new S3Error('InvalidArgument', `x-amz-object-attributes must name one or more of ${attributes.join(', ')}.`);
}

function partsElement({ headers, store }: Call, { multipart, checksum }: ObjectRecord): string[] {
  const given = new Map(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  const marker = readCount(given, 'x-amz-part-number-marker') ?? 0;
  const limit = Math.min(readCount(given, 'x-amz-max-parts') ?? maxParts, maxParts);
  if (!multipart) return [];
  const count = textElement('PartsCount', multipart.parts);
  if (!checksum) return [element('ObjectParts', [count])];

  const { partBytes } = multipart;
  const listed: string[] = [];
  let number = partBytes === undefined ? 0 : Math.min(marker, multipart.parts - 1);
  for (const part of partsAt(store.index.uploads, multipart, number * (partBytes ?? 0))) {
    number += 1;
    if (number <= marker) continue;
    if (listed.length === limit) break;
    const { size } = part;
    const children = [...checksumElements(part.checksum), textElement('PartNumber', number), textElement('Size', size)];
    listed.push(element('Part', children));
  }
  const last = marker + listed.length;
  const isTruncated = limit > 0 && last < multipart.parts && listed.length === limit;
  const children = [count, textElement('PartNumberMarker', marker), textElement('MaxParts', limit)];
  if (isTruncated) children.push(textElement('NextPartNumberMarker', last));
  return [element('ObjectParts', [...children, textElement('IsTruncated', isTruncated), ...listed])];
}
