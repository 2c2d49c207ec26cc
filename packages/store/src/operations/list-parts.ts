import type { ListedPart } from '../disk/upload-index.ts';
import { type Call, sendXml } from '../protocol/call.ts';
import { checksumElements, checksumNames } from '../protocol/multipart-checksum.ts';
import { ownerElement } from '../protocol/owner.ts';
import { S3Error } from '../protocol/s3-error.ts';
import { document, element, textElement } from '../protocol/xml.ts';
import { requireUpload } from './multipart-upload.ts';

const maxParts = 1000;

/**
 * GET /bucket/key?uploadId=: the parts uploaded so far, by number.
 *
 * @throws S3Error NoSuchUpload, InvalidArgument
 */
export async function listParts(call: Call): Promise<void> {
  const { bucket, key, query, store } = call;
  const { name, upload } = requireUpload(call);
  const { uploadId } = name;
  const marker = readCount(query, 'part-number-marker') ?? 0;
  const limit = Math.min(readCount(query, 'max-parts') ?? maxParts, maxParts);
  const parts: ListedPart[] = [];
  let isTruncated = false;
  for (const part of store.index.uploads.soundPartsFrom(uploadId, marker + 1)) {
    isTruncated = limit > 0 && parts.length === limit;
    if (parts.length === limit) break;
    parts.push(part);
  }
  const owner = ownerElement();
  const children = [textElement('Bucket', bucket), textElement('Key', key), textElement('UploadId', uploadId)];
  children.push(owner.replaceAll('Owner>', 'Initiator>'), owner, textElement('StorageClass', 'STANDARD'));
  children.push(...checksumNames(upload.checksum), textElement('PartNumberMarker', marker));
  if (isTruncated) children.push(textElement('NextPartNumberMarker', parts.at(-1)?.partNumber ?? marker));
  children.push(textElement('MaxParts', limit), textElement('IsTruncated', isTruncated));
  sendXml(call, document('ListPartsResult', [...children, ...parts.map(toXml)]));
}

/** @throws S3Error InvalidArgument */
export function readCount(query: ReadonlyMap<string, string>, name: string): number | undefined {
  const text = query.get(name);
  if (text === undefined || /^\d{1,10}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new S3Error('InvalidArgument', `${name} must be a whole number, 0 or more.`);
}

function toXml({ partNumber, lastModified, etag, size, checksum }: ListedPart): string {
  return element('Part', [
    textElement('PartNumber', partNumber),
    textElement('LastModified', new Date(lastModified).toISOString()),
    textElement('ETag', `"${etag}"`),
    textElement('Size', size),
    ...checksumElements(checksum),
  ]);
}
