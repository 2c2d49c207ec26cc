import type { Refused } from '@cadiz/sigv4';

/**
 * The S3 error codes that this store answers with, and their HTTP status (Amazon S3 API reference, "Error
 * responses").
 */
const statusOf = {
  AccessControlListNotSupported: 400,
  AccessDenied: 403,
  AccessForbidden: 403,
  BadDigest: 400,
  BadRequest: 400,
  BucketAlreadyOwnedByYou: 409,
  BucketNotEmpty: 409,
  EntityTooLarge: 400,
  EntityTooSmall: 400,
  ExpectationFailed: 417,
  IncompleteBody: 400,
  InsufficientStorage: 507,
  InternalError: 500,
  InvalidArgument: 400,
  InvalidBucketName: 400,
  InvalidChunkSizeError: 400,
  InvalidDigest: 400,
  InvalidLocationConstraint: 400,
  InvalidPart: 400,
  InvalidPartNumber: 416,
  InvalidPartOrder: 400,
  InvalidPolicyDocument: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  InvalidURI: 400,
  KeyTooLongError: 400,
  MalformedPOSTRequest: 400,
  MalformedTrailerError: 400,
  MalformedXML: 400,
  MaxPostPreDataLengthExceeded: 400,
  MetadataTooLarge: 400,
  MissingContentLength: 411,
  NoSuchBucket: 404,
  NoSuchCORSConfiguration: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NoSuchVersion: 404,
  NotImplemented: 501,
  PreconditionFailed: 412,
  ServiceUnavailable: 503,
  XAmzContentSHA256Mismatch: 400,
} as const;

export type S3ErrorCode = keyof typeof statusOf;

/** A refusal that the caller is told about: S3's code, its status, and one sentence that says how to fix it. */
export class S3Error extends Error {
  readonly code: string;
  readonly status: number;
  /** sent with the answer */
  readonly headers: Record<string, string> = {};
  /** Elements of the document that clients read besides code and message, such as the right `Region`. */
  readonly details: Record<string, string> = {};

  constructor(code: S3ErrorCode, message: string);
  /** For codes decided elsewhere, with their status; see `refused`. */
  constructor(code: string, message: string, status: number);
  constructor(code: string, message: string, status?: number) {
    super(message);
    this.name = 'S3Error';
    this.code = code;
    this.status = status ?? statusOf[code as S3ErrorCode];
  }
}

/** What the signature check refuses. Clients read the right region from the document or from the header. */
export function refused({ code, message, status, region }: Refused): S3Error {
  const error = new S3Error(code, message, status);
  if (region !== undefined) {
    error.details.Region = region;
    error.headers['x-amz-bucket-region'] = region;
  }
  return error;
}

/** A 501 that names the feature. */
export function notImplemented(what: string): S3Error {
  return new S3Error('NotImplemented', `${what} is not implemented by this store.`);
}

export function noSuchBucket(bucket: string): S3Error {
  return new S3Error('NoSuchBucket', `There is no bucket named ${bucket}.`);
}
