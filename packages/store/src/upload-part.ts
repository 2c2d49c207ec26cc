import { type Call, sendEmpty } from './call.ts';
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
  const { name } = requireUpload(call);
  const body = readPromisedBody(call);
  const { blob, etag } = await receiveBlob(call, body);
  await indexPart(call, name, partNumber, { blob, etag, size: body.size });
  sendEmpty(call, 200, { etag: `"${etag}"` });
}
