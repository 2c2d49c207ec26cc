import { type Call, sendEmpty } from '../protocol/call.ts';
import { checksumHeader } from '../protocol/checksum-header.ts';
import { choosePartChecksum } from '../protocol/multipart-checksum.ts';
import { readPartNumber } from '../protocol/part-number.ts';
import { indexPart, requireUpload } from './multipart-upload.ts';
import { readPromisedBody, receiveBody } from './put-object.ts';

/**
 * PUT /bucket/key?partNumber=&uploadId=: one part of an upload; replaces an earlier one with the same number. Promises
 * are made and checked as for PutObject.
 *
 * @throws S3Error NoSuchUpload, InvalidArgument, and what `receiveBody` throws
 */
export async function uploadPart(call: Call): Promise<void> {
  const partNumber = readPartNumber(call.query);
  const { name, upload } = requireUpload(call);
  const body = readPromisedBody(call);
  const promised = { ...body, checksum: choosePartChecksum(upload, body.checksum) };
  const { stored, etag, checksum } = await receiveBody(call, promised, false);
  await indexPart(call, name, partNumber, stored, { size: body.size, etag, ...(checksum && { checksum }) });
  sendEmpty(call, 200, {
    etag: `"${etag}"`,
    ...(checksum && { [checksumHeader(checksum.algorithm)]: checksum.value }),
  });
}
