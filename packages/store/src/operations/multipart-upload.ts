import { randomBytes } from 'node:crypto';
import type { PartRecord, UploadRecord } from '../disk/index-record.ts';
import type { StoredBytes } from '../disk/take-in.ts';
import type { UploadName } from '../disk/upload-index.ts';
import { type Call, requireBucket, requireKey } from '../protocol/call.ts';
import { S3Error } from '../protocol/s3-error.ts';
import { settleBlob } from './put-object.ts';

/** All parts but the last must have at least this many. */
export const minPartBytes = 5 * 1024 ** 2;
export const maxUploadBytes = 5 * 1024 ** 4;

/** Ids sort by the time of their creation, so that the uploads of one key are listed by age. */
export function newUploadId(now: number): string {
  return now.toString(16).padStart(12, '0') + randomBytes(16).toString('hex');
}

/**
 * The upload that a request names, whether or not it exists.
 *
 * @throws S3Error NoSuchBucket, InvalidArgument, KeyTooLongError, NoSuchUpload
 */
export function requireUploadName(call: Call): UploadName {
  const { bucket, key, query } = call;
  const uploadId = query.get('uploadId') ?? '';
  requireBucket(call);
  requireKey(key);
  if (!/^[0-9a-f]{44}$/.test(uploadId)) throw noSuchUpload();
  return { bucket, key, uploadId };
}

/** @throws S3Error what `requireUploadName` throws, and NoSuchUpload if it does not exist */
export function requireUpload(call: Call): { name: UploadName; upload: UploadRecord } {
  const name = requireUploadName(call);
  const upload = call.store.index.uploads.find(name);
  if (!upload) throw noSuchUpload();
  return { name, upload };
}

export function noSuchUpload(): S3Error {
  return new S3Error(
    'NoSuchUpload',
    'There is no such upload: it was completed, aborted, or never started for this key.',
  );
}

/**
 * Turns received bytes into a part of the upload. A blob that does not become one is removed.
 *
 * @throws S3Error NoSuchUpload
 */
export async function indexPart(
  { store }: Call,
  name: UploadName,
  partNumber: number,
  content: StoredBytes,
  description: Omit<PartRecord, 'blob' | 'lastModified'>,
): Promise<PartRecord> {
  if ('bytes' in content) throw new Error('A part has a blob, however small it is.');
  const record = { ...description, ...content, lastModified: wholeSeconds(store.now()) };
  try {
    const { stored, removed } = await store.index.uploads.putPart(name, partNumber, record);
    void store.reaper.remove(removed);
    if (!stored) throw noSuchUpload();
    return record;
  } finally {
    await settleBlob(store, content.blob);
  }
}

/** S3 has whole seconds; this way every answer shows the same time. */
export function wholeSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000) * 1000;
}
