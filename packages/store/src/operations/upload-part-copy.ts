import type { ByteRange } from '../disk/object-content.ts';
import type { Call } from '../protocol/call.ts';
import { checksumElements } from '../protocol/multipart-checksum.ts';
import { readPartNumber } from '../protocol/part-number.ts';
import { S3Error } from '../protocol/s3-error.ts';
import { sendXmlWhenDone } from '../protocol/slow-answer.ts';
import { document, textElement } from '../protocol/xml.ts';
import { copyBytes, readCopySource } from './copy-source.ts';
import { indexPart, requireUpload } from './multipart-upload.ts';

/**
 * PUT /bucket/key?partNumber=&uploadId= with `x-amz-copy-source`: a part with the bytes of another object, all of them
 * or those in `x-amz-copy-source-range`.
 *
 * @throws S3Error NoSuchUpload, NoSuchKey, InvalidArgument, PreconditionFailed
 */
export function uploadPartCopy(call: Call): Promise<void> {
  return sendXmlWhenDone(call, () => copyPart(call));
}

async function copyPart(call: Call): Promise<string> {
  const partNumber = readPartNumber(call.query);
  const { name, upload } = requireUpload(call);
  const range = call.headers['x-amz-copy-source-range'];
  const copied = await copyBytes(call, readCopySource(call), (length) => readRange(range, length), {
    algorithm: upload.checksum?.algorithm,
    mayBePacked: false,
  });
  const { stored, etag, size, checksum } = copied;
  const description = { etag, size, ...(checksum && { checksum }) };
  const { lastModified } = await indexPart(call, name, partNumber, stored, description);
  const children = [
    textElement('LastModified', new Date(lastModified).toISOString()),
    textElement('ETag', `"${etag}"`),
    ...checksumElements(checksum),
  ];
  return document('CopyPartResult', children);
}

function readRange(header: unknown, size: number): ByteRange {
  if (header === undefined) return { first: 0, last: size - 1 };
  const [, first, last] = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(String(header)) ?? [];
  const range = { first: Number(first), last: Number(last) };
  if (range.first <= range.last && range.last < size) return range;
  const message = `x-amz-copy-source-range must be bytes=first-last within the ${size} bytes of the object.`;
  throw new S3Error('InvalidArgument', message);
}
