import { buffer } from 'node:stream/consumers';
import { openContent } from '../disk/object-content.ts';
import type { Store } from '../disk/store.ts';
import { noSuchBucket, S3Error } from '../protocol/s3-error.ts';

export interface PeekedObject {
  /** of the whole object */
  sizeBytes: number;
  /** without quotes */
  etag: string;
  /** As many as were asked for, or all if the object has fewer. */
  firstBytes: Uint8Array;
}

/**
 * The first `length` bytes of an object, for the process that the store is part of: without a request, its signature and
 * its headers. Undefined if there is no such object.
 *
 * @throws S3Error NoSuchBucket, and Damaged
 */
export async function peekObject(
  store: Store,
  name: { bucket: string; key: string },
  length: number,
): Promise<PeekedObject | undefined> {
  if (!store.index.findBucket(name.bucket)) throw noSuchBucket(name.bucket);
  try {
    const { found, content } = await openContent(store, name, () => {
      const record = store.index.findObject(name.bucket, name.key);
      if (!record) throw new S3Error('NoSuchKey', 'There is no object with this key.');
      return { record, range: { first: 0, last: Math.min(length, record.size) - 1 }, found: record };
    });
    try {
      const bytes = content.bytes ?? (await buffer(content.stream()));
      // A copy: a slice of a larger buffer would take all of that along to another thread.
      return { sizeBytes: found.size, etag: found.etag, firstBytes: new Uint8Array(bytes) };
    } finally {
      await content.close();
    }
  } catch (error) {
    if (error instanceof S3Error && error.code === 'NoSuchKey') return undefined;
    throw error;
  }
}
