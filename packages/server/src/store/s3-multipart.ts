import { document, element, textElement } from '@cadiz/store/xml';
import pRetry, { type RetryContext } from 'p-retry';
import type { Completion, NamedPart, ObjectStore, StoredPart } from './object-store.ts';
import {
  childrenOf,
  decodeText,
  findError,
  refused,
  requireCount,
  requireDocument,
  requireEtag,
  requireWithin,
  textOf,
  toReason,
  withoutQuotes,
} from './s3-answer.ts';
import { type S3Answer, type S3Connection, unavailable } from './s3-connection.ts';

type Multipart = Pick<
  ObjectStore,
  'createMultipart' | 'putPart' | 'listParts' | 'completeMultipart' | 'abortMultipart' | 'listMultiparts'
>;

/** The cause of an error from a store that still has every part: it may already be joining them for another request. */
const partsStillThere = new Error('The upload in parts is still there.');

/** Three seconds in total. */
const completionRetries = {
  retries: 4,
  minTimeout: 200,
  factor: 2,
  shouldRetry: ({ error }: RetryContext) => error.cause === partsStillThere,
};

/** S3's codes for parts that do not make an object. The client cannot fix any other refusal. */
const refusedParts = new Set(['InvalidPart', 'InvalidPartOrder', 'EntityTooSmall', 'EntityTooLarge']);

/** CreateMultipartUpload, ListParts, CompleteMultipartUpload, AbortMultipartUpload and ListMultipartUploads. */
export function createS3Multipart(connection: S3Connection): Multipart {
  async function listParts(key: string, uploadId: string): Promise<StoredPart[] | undefined> {
    const parts: StoredPart[] = [];
    let marker = 0;
    for (;;) {
      const query = { uploadId, 'max-parts': '1000', 'part-number-marker': `${marker}` };
      const answer = await connection.call({ method: 'GET', key, query });
      if (isUnknown(answer)) return undefined;
      const result = requireDocument('ListParts', answer, 'ListPartsResult');
      for (const part of childrenOf(result, 'Part')) {
        parts.push({
          partNumber: requireCount(textOf(part, 'PartNumber')),
          etag: withoutQuotes(textOf(part, 'ETag')),
          sizeBytes: requireCount(textOf(part, 'Size')),
        });
      }
      if (textOf(result, 'IsTruncated') !== 'true') return parts;
      const next = requireCount(textOf(result, 'NextPartNumberMarker'));
      if (next <= marker) throw unavailable("The object store's pages of parts do not advance.");
      marker = next;
    }
  }

  async function complete(key: string, uploadId: string, parts: readonly NamedPart[]): Promise<Completion> {
    // Without quotes, 10,000 parts stay below the 1 MiB that Ceph RGW reads.
    const children = parts.map(({ partNumber, etag }) =>
      element('Part', [textElement('PartNumber', partNumber), textElement('ETag', withoutQuotes(etag))]),
    );
    const answer = await connection.send({
      method: 'POST',
      key,
      query: { uploadId },
      body: document('CompleteMultipartUpload', children),
      // Some stores check every part before they answer.
      isLong: true,
    });
    if (isUnknown(answer)) return 'unknown';
    const error = findError(answer);
    if (error && refusedParts.has(error.code)) return { refused: toReason(error) };
    if (answer.status >= 500) {
      // Ceph RGW answers 500 for an unknown upload.
      if ((await listParts(key, uploadId)) === undefined) return 'unknown';
      throw unavailable(`The object store answered ${answer.status}.`, partsStillThere);
    }
    requireDocument('CompleteMultipartUpload', answer, 'CompleteMultipartUploadResult');
    return 'completed';
  }

  return {
    listParts,

    async createMultipart(key) {
      const answer = await connection.call({ method: 'POST', key, query: { uploads: '' } });
      const result = requireDocument('CreateMultipartUpload', answer, 'InitiateMultipartUploadResult');
      const uploadId = textOf(result, 'UploadId');
      if (uploadId === '') throw unavailable("The object store's answer to CreateMultipartUpload has no UploadId.");
      return uploadId;
    },

    async putPart(key, { uploadId, partNumber }, content) {
      const query = { partNumber: `${partNumber}`, uploadId };
      const answer = await connection.call({ method: 'PUT', key, query, stream: content, isLong: true });
      if (answer.status !== 200) throw refused('UploadPart', answer);
      return requireEtag('UploadPart', answer.headers.etag);
    },

    completeMultipart: (key, uploadId, parts) => pRetry(() => complete(key, uploadId, parts), completionRetries),

    async abortMultipart(key, uploadId) {
      const answer = await connection.call({ method: 'DELETE', key, query: { uploadId } });
      if (answer.status === 204 || answer.status === 200 || isUnknown(answer)) return;
      throw refused('AbortMultipartUpload', answer);
    },

    async listMultiparts(prefix, { keyMarker, uploadIdMarker, limit = 1000 } = {}) {
      const query = {
        uploads: '',
        'encoding-type': 'url',
        'max-uploads': `${limit}`,
        prefix,
        ...(keyMarker !== undefined && { 'key-marker': keyMarker }),
        ...(uploadIdMarker !== undefined && { 'upload-id-marker': uploadIdMarker }),
      };
      const answer = await connection.call({ method: 'GET', query });
      const result = requireDocument('ListMultipartUploads', answer, 'ListMultipartUploadsResult');
      // Ceph RGW encodes the keys without saying so in EncodingType, and leaves the markers unencoded.
      const uploads = childrenOf(result, 'Upload').map((upload) => ({
        storeKey: decodeText(textOf(upload, 'Key')),
        uploadId: textOf(upload, 'UploadId'),
        startedAt: new Date(textOf(upload, 'Initiated')),
      }));
      requireWithin(prefix, uploads);
      const last = uploads.at(-1);
      if (textOf(result, 'IsTruncated') !== 'true' || !last) return { uploads, next: undefined };
      if (last.storeKey === keyMarker && last.uploadId === uploadIdMarker) {
        throw unavailable("The object store's pages of uploads do not advance.");
      }
      return { uploads, next: { keyMarker: last.storeKey, uploadIdMarker: last.uploadId } };
    },
  };
}

/**
 * Ceph RGW answers NoSuchKey for the parts of an unknown upload. A completion that takes long is answered 200 before
 * its error is known.
 */
function isUnknown(answer: S3Answer): boolean {
  if (answer.status !== 404 && answer.status !== 200) return false;
  const code = findError(answer)?.code;
  return code === 'NoSuchUpload' || code === 'NoSuchKey';
}
