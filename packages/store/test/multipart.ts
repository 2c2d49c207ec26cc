import { createHash } from 'node:crypto';
import {
  CompleteMultipartUploadCommand,
  type CompleteMultipartUploadCommandOutput,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { bucket, type TestStore } from './running-store.ts';

/** The smallest size of a part that is not the last. */
export const partBytes = 5 * 1024 ** 2;

export interface SentPart {
  PartNumber: number;
  ETag: string;
}

export const md5 = (data: string | Buffer) => createHash('md5').update(data).digest('hex');

/** Bytes that differ everywhere, so that a part in the wrong place is noticed. */
export function partOf(bytes: number, seed: number): Buffer {
  const unit = createHash('sha512').update(`part ${seed}`).digest();
  return Buffer.alloc(bytes, unit);
}

export async function beginUpload(
  { client }: TestStore,
  key: string,
  more: Partial<CreateMultipartUploadCommandInput> = {},
): Promise<string> {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: key, ...more }));
  return UploadId ?? '';
}

export async function sendPart(
  { client }: TestStore,
  key: string,
  uploadId: string,
  partNumber: number,
  body: string | Buffer,
): Promise<SentPart> {
  const sent = { Bucket: bucket, Key: key, UploadId: uploadId, PartNumber: partNumber, Body: body };
  const { ETag = '' } = await client.send(new UploadPartCommand(sent));
  return { PartNumber: partNumber, ETag };
}

export function complete(
  { client }: TestStore,
  key: string,
  uploadId: string,
  parts: SentPart[],
  more: { IfNoneMatch?: string; IfMatch?: string } = {},
): Promise<CompleteMultipartUploadCommandOutput> {
  const MultipartUpload = { Parts: parts };
  return client.send(
    new CompleteMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: uploadId, MultipartUpload, ...more }),
  );
}

/** An object made of these parts; returns its ETag. */
export async function uploadInParts(
  store: TestStore,
  key: string,
  bodies: readonly (string | Buffer)[],
): Promise<string> {
  const uploadId = await beginUpload(store, key);
  const parts = await Promise.all(bodies.map((body, at) => sendPart(store, key, uploadId, at + 1, body)));
  const { ETag = '' } = await complete(store, key, uploadId, parts);
  return ETag;
}
