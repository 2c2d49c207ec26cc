import type { ObjectRecord } from '../disk/index-record.ts';
import { type Call, requireBucket, requireKey } from '../protocol/call.ts';
import { toObjectAnswer } from '../protocol/object-answer.ts';
import { S3Error } from '../protocol/s3-error.ts';
import { requireNullVersion } from '../protocol/version-id.ts';

/** HEAD /bucket/key: the answer of GetObject, without the bytes. */
export async function headObject(call: Call): Promise<void> {
  const answer = toObjectAnswer(call, requireObject(call));
  call.response.writeHead(answer.status, answer.headers);
  call.response.end();
}

/** @throws S3Error NoSuchBucket, NoSuchKey, NoSuchVersion, InvalidArgument */
export function requireObject(call: Call): ObjectRecord {
  requireBucket(call);
  requireKey(call.key);
  requireNullVersion(call.query.get('versionId'));
  const record = call.store.index.findObject(call.bucket, call.key);
  if (!record) throw new S3Error('NoSuchKey', 'There is no object with this key.');
  return record;
}
