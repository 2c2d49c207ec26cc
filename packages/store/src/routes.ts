import type { IncomingMessage } from 'node:http';
import type { Verified } from '@cadiz/sigv4';
import type { Call } from './call.ts';
import { createBucket } from './create-bucket.ts';
import { deleteObject } from './delete-object.ts';
import { getObject } from './get-object.ts';
import { headBucket } from './head-bucket.ts';
import { headObject } from './head-object.ts';
import { listObjectsV2 } from './list-objects-v2.ts';
import { responseOverrides } from './object-answer.ts';
import { putObject } from './put-object.ts';
import { notImplemented, S3Error } from './s3-error.ts';

export interface Operation {
  name: string;
  run(call: Call): Promise<void>;
  /** Query parameters it understands, beside those of the signature. */
  query: readonly string[];
  /** `x-amz-*` headers it understands, beside those of the signature. */
  amzHeaders: readonly string[];
  /** Query parameters and `x-amz-*` headers that tell it from other operations of its method; all must be there. */
  marks?: readonly string[];
}

/** The operations of a method: the first whose marks are all there is meant, so that one without marks comes last. */
type Operations = Readonly<Record<string, readonly Operation[]>>;

const reading = ['x-amz-checksum-mode'];
const listing = ['list-type', 'prefix', 'delimiter', 'start-after', 'continuation-token', 'max-keys', 'encoding-type'];

/** Every operation there is, by level and method. */
const bucketOperations: Operations = {
  GET: [{ name: 'ListObjectsV2', run: listObjectsV2, query: [...listing, 'fetch-owner'], amzHeaders: [] }],
  HEAD: [{ name: 'HeadBucket', run: headBucket, query: [], amzHeaders: [] }],
  PUT: [{ name: 'CreateBucket', run: createBucket, query: [], amzHeaders: [] }],
};
const objectOperations: Operations = {
  GET: [{ name: 'GetObject', run: getObject, query: [...responseOverrides.keys()], amzHeaders: reading }],
  HEAD: [{ name: 'HeadObject', run: headObject, query: [], amzHeaders: reading }],
  PUT: [{ name: 'PutObject', run: putObject, query: [], amzHeaders: ['x-amz-storage-class', 'x-amz-meta-'] }],
  DELETE: [{ name: 'DeleteObject', run: deleteObject, query: [], amzHeaders: [] }],
};

const signatureQuery = new Set([
  'X-Amz-Algorithm',
  'X-Amz-Content-Sha256',
  'X-Amz-Credential',
  'X-Amz-Date',
  'X-Amz-Expires',
  'X-Amz-Signature',
  'X-Amz-SignedHeaders',
]);
const signatureHeaders = ['x-amz-content-sha256', 'x-amz-date', 'x-amz-user-agent'];

/** Bucket and key of a decoded path; '' for what is not there. The key is everything after the bucket's slash, as it stands. */
export function splitPath(path: string): { bucket: string; key: string } {
  const slash = path.indexOf('/', 1);
  if (slash < 0) return { bucket: path.slice(1), key: '' };
  return { bucket: path.slice(1, slash), key: path.slice(slash + 1) };
}

/** @throws S3Error NotImplemented */
export function findOperation(
  { method = '', headers }: IncomingMessage,
  bucket: string,
  key: string,
  query: ReadonlyMap<string, string>,
): Operation {
  if (bucket === '' && key === '') throw notImplemented(`${method} without a bucket`);
  const operations = (key === '' ? bucketOperations : objectOperations)[method] ?? [];
  const operation = operations.find(({ marks = [] }) => marks.every((name) => query.has(name) || name in headers));
  if (!operation) throw notImplemented(`${method} on ${key === '' ? 'a bucket' : 'an object'}`);
  return operation;
}

/**
 * Refuses a request that asks for more than the operation does. A sub-resource (`?acl`, `?uploadId`) or a header
 * (`x-amz-copy-source`) that were passed over would turn the request into another one.
 *
 * @throws S3Error NotImplemented
 */
export function requireUnderstood(
  operation: Operation,
  request: IncomingMessage,
  query: ReadonlyMap<string, string>,
  verified: Verified,
): void {
  if (verified.payloadHash.startsWith('STREAMING-')) throw refuseChecksum('aws-chunked bodies');
  for (const [name, value] of query) {
    if (signatureQuery.has(name) || operation.query.includes(name) || operation.marks?.includes(name)) continue;
    if (name === 'x-id' && value === operation.name) continue;
    if (isChecksum(name)) throw refuseChecksum(`The query parameter ${name}`);
    throw notImplemented(`${operation.name} with the query parameter "${name}"`);
  }
  for (const name of Object.keys(request.headers)) {
    if (!name.startsWith('x-amz-') || signatureHeaders.includes(name) || operation.marks?.includes(name)) continue;
    if (operation.amzHeaders.some((known) => (known.endsWith('-') ? name.startsWith(known) : name === known))) continue;
    if (isChecksum(name)) throw refuseChecksum(`The header ${name}`);
    throw notImplemented(`${operation.name} with the header ${name}`);
  }
}

function isChecksum(name: string): boolean {
  return /^x-amz-(checksum-|sdk-checksum-|trailer$|decoded-content-length$)/i.test(name);
}

function refuseChecksum(what: string): S3Error {
  const advice = "Set requestChecksumCalculation: 'WHEN_REQUIRED' in an AWS SDK, or send Content-MD5 instead.";
  return new S3Error('NotImplemented', `${what} cannot be verified by this store yet. ${advice}`);
}
