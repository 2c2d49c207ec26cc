import { uriEncodePath } from '@cadiz/sigv4';
import pLimit from 'p-limit';
import type { NamedPart, ObjectFacts, ObjectStore } from './object-store.ts';
import { findError, refused, requireDocument, requireEtag, textOf, withoutQuotes } from './s3-answer.ts';
import { type S3Answer, type S3Connection, unavailable } from './s3-connection.ts';

const gibibyte = 1024 ** 3;

/** How much S3 copies at once, and in which parts we have larger objects copied. */
export interface CopyLimits {
  wholeBytes: number;
  partBytes: number;
}
/** 5 TiB, the largest object, has 5120 parts of this size. */
const limitsOfS3: CopyLimits = { wholeBytes: 5 * gibibyte, partBytes: gibibyte };

const partsAtOnce = 4;

/** The codes of stores that copy less at once than S3 does. */
const tooLarge = new Set(['InvalidRequest', 'EntityTooLarge']);

type Store = Pick<ObjectStore, 'head' | 'remove' | 'createMultipart' | 'completeMultipart' | 'abortMultipart'> & {
  bucket: string;
};

/**
 * CopyObject, and UploadPartCopy for what is too large for it.
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html
 */
export function createS3Copy(connection: S3Connection, store: Store, limits = limitsOfS3): ObjectStore['copy'] {
  const toHeaders = (sourceKey: string, { etag }: ObjectFacts) => ({
    'x-amz-copy-source': `/${store.bucket}/${uriEncodePath(sourceKey)}`,
    'x-amz-copy-source-if-match': `"${etag}"`,
  });

  /** Ceph RGW copies whatever the ETag, so the source is looked at afterwards: what it is then, it was before, too. */
  const isStill = async (sourceKey: string, { etag }: ObjectFacts) => (await store.head(sourceKey))?.etag === etag;

  /** Undefined if the store wants it in parts, null if there is no such object. */
  async function copyWhole(sourceKey: string, storeKey: string, source: ObjectFacts) {
    const headers = toHeaders(sourceKey, source);
    const answer = await connection.call({ method: 'PUT', key: storeKey, headers, isLong: true });
    if (isGone(answer)) return null;
    if (tooLarge.has(findError(answer)?.code ?? '')) return undefined;
    const result = requireDocument('CopyObject', answer, 'CopyObjectResult');
    if (!(await isStill(sourceKey, source))) {
      await store.remove([storeKey]);
      return null;
    }
    return { sizeBytes: source.sizeBytes, etag: requireEtag('CopyObject', textOf(result, 'ETag')) };
  }

  async function copyParts(sourceKey: string, storeKey: string, source: ObjectFacts): Promise<ObjectFacts | undefined> {
    const uploadId = await store.createMultipart(storeKey);
    try {
      const parts = await copyEachPart(sourceKey, storeKey, uploadId, source);
      if (parts && (await isStill(sourceKey, source))) return await join(storeKey, uploadId, parts, source.sizeBytes);
    } catch (error) {
      // If this fails too, the janitor aborts it.
      await store.abortMultipart(storeKey, uploadId).catch(() => undefined);
      throw error;
    }
    await store.abortMultipart(storeKey, uploadId);
    return undefined;
  }

  /** Undefined if there is no such object. */
  async function copyEachPart(
    sourceKey: string,
    storeKey: string,
    uploadId: string,
    source: ObjectFacts,
  ): Promise<NamedPart[] | undefined> {
    const starts = Array.from(
      { length: Math.ceil(source.sizeBytes / limits.partBytes) },
      (_, n) => n * limits.partBytes,
    );
    async function copyPart(start: number, partNumber: number): Promise<NamedPart | undefined> {
      const last = Math.min(start + limits.partBytes, source.sizeBytes) - 1;
      const headers = { ...toHeaders(sourceKey, source), 'x-amz-copy-source-range': `bytes=${start}-${last}` };
      const query = { partNumber: `${partNumber}`, uploadId };
      const answer = await connection.call({ method: 'PUT', key: storeKey, query, headers, isLong: true });
      if (isGone(answer)) return undefined;
      const result = requireDocument('UploadPartCopy', answer, 'CopyPartResult');
      return { partNumber, etag: withoutQuotes(textOf(result, 'ETag')) };
    }
    // Once a part is missing, the others are of no use.
    let isMissing = false;
    const parts = await pLimit(partsAtOnce).map(starts, async (start, index) => {
      let part: NamedPart | undefined;
      try {
        if (!isMissing) part = await copyPart(start, index + 1);
      } finally {
        isMissing ||= part === undefined;
      }
      return part;
    });
    const copied = parts.filter((part) => part !== undefined);
    return copied.length === parts.length ? copied : undefined;
  }

  async function join(storeKey: string, uploadId: string, parts: NamedPart[], sizeBytes: number): Promise<ObjectFacts> {
    const completion = await store.completeMultipart(storeKey, uploadId, parts);
    if (typeof completion === 'object')
      throw unavailable(`The object store refused its copies: ${completion.refused}.`);
    const facts = await store.head(storeKey);
    if (facts?.sizeBytes !== sizeBytes) throw unavailable('The object store has lost a copy that it made.');
    return facts;
  }

  return async (sourceKey, storeKey, source) => {
    const whole = source.sizeBytes <= limits.wholeBytes ? await copyWhole(sourceKey, storeKey, source) : undefined;
    return whole === undefined ? copyParts(sourceKey, storeKey, source) : (whole ?? undefined);
  };
}

/** Absent, or with another ETag. Some stores say so in the body of a 200. */
function isGone(answer: S3Answer): boolean {
  const code = findError(answer)?.code;
  if (code === 'NoSuchBucket') throw refused('CopyObject', answer);
  return answer.status === 412 || code === 'NoSuchKey' || code === 'PreconditionFailed';
}
