import { type Call, requireBucket, requireKey, sendXml } from '../protocol/call.ts';
import { readUploadChecksum } from '../protocol/multipart-checksum.ts';
import { S3Error } from '../protocol/s3-error.ts';
import { document, textElement } from '../protocol/xml.ts';
import { newUploadId, wholeSeconds } from './multipart-upload.ts';
import { readContentHeaders, readMetadata } from './put-object.ts';

/**
 * POST /bucket/key?uploads: starts a multipart upload. The content headers and metadata sent here become the object's.
 *
 * @throws S3Error NoSuchBucket, KeyTooLongError, MetadataTooLarge
 */
export async function createMultipartUpload(call: Call): Promise<void> {
  const { bucket, key, headers, store } = call;
  requireBucket(call);
  requireKey(key);
  const now = store.now();
  const uploadId = newUploadId(now);
  const checksum = readUploadChecksum(call);
  const record = {
    initiatedAt: wholeSeconds(now),
    headers: readContentHeaders(call),
    metadata: readMetadata(headers),
    ...(checksum && { checksum }),
  };
  const created = await store.index.uploads.create({ bucket, key, uploadId }, record);
  if (!created) throw new S3Error('NoSuchBucket', `There is no bucket named ${bucket}.`);
  if (checksum) {
    call.response.setHeader('x-amz-checksum-algorithm', checksum.algorithm);
    call.response.setHeader('x-amz-checksum-type', checksum.type);
  }
  const children = [textElement('Bucket', bucket), textElement('Key', key), textElement('UploadId', uploadId)];
  sendXml(call, document('InitiateMultipartUploadResult', children));
}
