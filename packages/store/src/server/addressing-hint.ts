import { type Call, isBucketName } from '../protocol/call.ts';

/**
 * What to change in a client that names the bucket in the host ("virtual-hosted style"), whose requests look as if they
 * were for another bucket or for none. Empty if the request names a bucket that exists, or its host does not begin with
 * the name of one. For requests with a valid signature only: others must not find out which buckets exist.
 */
export function addressingHint({ store, bucket, headers }: Pick<Call, 'store' | 'bucket' | 'headers'>): string {
  const exists = (name: string) => isBucketName(name) && store.index.findBucket(name) !== undefined;
  if (exists(bucket)) return '';
  const labels = (headers.host ?? '').replace(/:\d*$/, '').split('.');
  const meant = labels.map((_, at) => labels.slice(0, at).join('.')).find(exists);
  if (meant === undefined) return '';
  return ` If the bucket ${meant} is meant, name it in the path, not in the host: set the client to path style.`;
}
