import type { IncomingHttpHeaders } from 'node:http';
import { ownerId } from './owner.ts';
import { S3Error } from './s3-error.ts';

/** Names the expected owner of the bucket that a copy reads from; for `amzHeaders` of a copy. */
export const expectedSourceOwner = 'x-amz-source-expected-bucket-owner';

/** `x-amz-*` headers that every operation accepts. */
export const commonHeaders = ['x-amz-expected-bucket-owner', 'x-amz-request-payer'];

/**
 * Checks what a request expects of the buckets it names ("Verifying bucket ownership with bucket owner condition",
 * "Using Requester Pays"). All buckets have one owner, who pays, and whose id ListBuckets and ACLs return.
 *
 * @throws S3Error AccessDenied when the bucket is expected to be somebody else's, InvalidArgument
 */
export function requireExpectations(headers: IncomingHttpHeaders): void {
  for (const name of ['x-amz-expected-bucket-owner', expectedSourceOwner]) {
    const expected = headers[name];
    if (expected === undefined || expected === ownerId) continue;
    throw new S3Error('AccessDenied', `The bucket does not belong to ${expected}, the owner in ${name}.`);
  }
  const payer = headers['x-amz-request-payer'];
  if (payer === undefined || payer === 'requester') return;
  throw new S3Error('InvalidArgument', 'x-amz-request-payer can only be requester.');
}
