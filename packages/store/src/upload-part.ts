import { type Call, sendEmpty } from './call.ts';
import { checksumHeader } from './checksum.ts';
import { choosePartChecksum } from './multipart-checksum.ts';
import { indexPart, requireUpload } from './multipart-upload.ts';
import { readPartNumber } from './part-number.ts';
import { readPromisedBody, receiveBlob } from './put-object.ts';

/**
 * PUT /bucket/key?partNumber=&uploadId=: one part of an upload, in the place of an earlier one with its number. The same
 * is promised and checked as with PutObject.
 *
 * @throws S3Error NoSuchUpload, InvalidArgument, and what the body is held to
 */
export async function uploadPart(call: Call): Promise<void> {
  const partNumber = readPartNumber(call.query);
  const { name, upload } = requireUpload(call);
  const body = readPromisedBody(call);
  const received = await receiveBlob(call, { ...body, checksum: choosePartChecksum(upload, body.checksum) });
  await indexPart(call, name, partNumber, { ...received, size: body.size });
  const { etag, checksum } = received;
  sendEmpty(call, 200, {
    etag: `"${etag}"`,
    ...(checksum && { [checksumHeader(checksum.algorithm)]: checksum.value }),
  });
}
