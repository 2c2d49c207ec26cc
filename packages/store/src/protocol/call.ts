import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Verified } from '@cadiz/sigv4';
import type { Store } from '../disk/store.ts';
import { noSuchBucket, S3Error } from './s3-error.ts';

/** A request with a valid signature. */
export interface Call {
  store: Store;
  /** For its headers, use `headers`. */
  request: Omit<IncomingMessage, 'headers'>;
  response: ServerResponse;
  bucket: string;
  /** '' for an operation on a bucket */
  key: string;
  /** see Parameters */
  headers: IncomingHttpHeaders;
  /** see Parameters */
  query: ReadonlyMap<string, string>;
  verified: Verified;
  /** Lets a client that sent `Expect: 100-continue` send its body. Call it before reading the body. */
  awaitBody(): void;
  /** How an answer that has already started reports an error; logs it if the store is to blame. */
  toErrorDocument(cause: unknown): string;
}

/** Amazon S3, "Bucket naming rules". */
export function isBucketName(name: string): boolean {
  return /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name) && !name.includes('..');
}

/** @throws S3Error InvalidBucketName */
export function requireBucketName(name: string): void {
  if (isBucketName(name)) return;
  throw new S3Error('InvalidBucketName', 'A bucket name has 3 to 63 characters: a-z, 0-9, "." and "-".');
}

/** @throws S3Error NoSuchBucket */
export function requireBucket(call: Call): void {
  if (call.store.index.findBucket(call.bucket)) return;
  throw noSuchBucket(call.bucket);
}

/** @throws S3Error InvalidArgument, KeyTooLongError */
export function requireKey(key: string): void {
  if (key.includes('\0')) throw new S3Error('InvalidArgument', 'An object key must not contain NUL.');
  const bytes = Buffer.byteLength(key);
  if (bytes > 1024) throw new S3Error('KeyTooLongError', `The key has ${bytes} bytes; the limit is 1024.`);
}

/** Answers with headers only. */
export function sendEmpty(call: Call, status: number, headers: Record<string, string> = {}): void {
  call.response.writeHead(status, { ...(status === 204 ? {} : { 'content-length': '0' }), ...headers });
  call.response.end();
}

/** Answers 200 with a document. */
export function sendXml(call: Call, xml: string): void {
  const body = Buffer.from(xml);
  call.response.writeHead(200, { 'content-type': 'application/xml', 'content-length': String(body.length) });
  call.response.end(body);
}
