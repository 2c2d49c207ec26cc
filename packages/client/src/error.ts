import type { ErrorCode } from './error-codes.ts';
import type { Issue, Problem } from './types.ts';

/** What can go wrong between a client and the service or the object store, beside the service's own errors. */
export type ClientErrorCode =
  /** The `signal` was aborted, or the upload was canceled. */
  | 'aborted'
  /** An argument cannot be used; the message says which and why. */
  | 'invalid_argument'
  /** A webhook is not signed with the secret, or is too old. */
  | 'invalid_webhook'
  /** No connection, or it broke. */
  | 'network_failed'
  /** Nothing was sent or received for a minute. */
  | 'timed_out'
  /** Something that is not Cadiz answered, such as a proxy. */
  | 'unexpected_answer'
  /** The object store refused the bytes; the message has its own words. */
  | 'upload_refused'
  /** The file cannot be read, or has changed since the upload began. */
  | 'file_unreadable';

interface ErrorFacts {
  status?: number | undefined;
  requestId?: string | undefined;
  /** What the status says by default. */
  retryable?: boolean | undefined;
  issues?: readonly Issue[] | undefined;
  retryAfter?: number | undefined;
  cause?: unknown;
}

/**
 * The one error that this package throws.
 *
 * @example
 * try {
 *   await cadiz.upload(file);
 * } catch (error) {
 *   if (isCadizError(error) && error.code === 'quota_exceeded') askForMoreSpace();
 *   else throw error;
 * }
 */
export class CadizError extends Error {
  override readonly name = 'CadizError';
  /** What went wrong: an error of the service (docs/errors.md), or of the way there. */
  declare readonly code: ErrorCode | ClientErrorCode;
  /** The HTTP status of the answer; 0 if there was none. */
  declare readonly status: number;
  /** The id under which the service has logged the request. */
  declare readonly requestId: string | undefined;
  /** Whether the same call may succeed later. It has already been repeated as often as `retries` says. */
  declare readonly retryable: boolean;
  /** Every invalid field, with `invalid_request`. */
  declare readonly issues: readonly Issue[];
  /** After how many seconds the service wants to be asked again, if it said so. */
  declare readonly retryAfter: number | undefined;

  constructor(code: ErrorCode | ClientErrorCode, message: string, facts: ErrorFacts = {}) {
    const { status = 0, requestId, retryable = isPassing(status), issues = [], retryAfter } = facts;
    super(message, facts);
    Object.assign(this, { code, status, requestId, retryable, issues, retryAfter });
  }
}

/**
 * Whether something thrown is a `CadizError`, even one of another copy of this package.
 *
 * @example
 * if (isCadizError(error) && error.retryable) tryAgainLater();
 */
export function isCadizError(error: unknown): error is CadizError {
  return error instanceof Error && error.name === 'CadizError';
}

/** A problem document of the service as an error. */
export function toProblemError(problem: Problem, retryAfter?: number): CadizError {
  const { code, title, detail, ...facts } = problem;
  return new CadizError(code as ErrorCode, detail || title, { ...facts, retryAfter });
}

/** What a caller has given cannot be used. */
export const invalid = (message: string): CadizError => new CadizError('invalid_argument', message);

/** Runs a function of the caller: what it throws is shown on the console, and harms nothing else. */
export async function safely(run: () => unknown): Promise<void> {
  try {
    await run();
  } catch (error) {
    console.error(error);
  }
}

/** Says that the bytes of a file cannot be had: it has changed, is gone, or is too large to be read at once. */
export function unreadable(cause: unknown): never {
  if (isCadizError(cause)) throw cause;
  throw new CadizError('file_unreadable', `The file is unreadable or changed: ${cause}`, { cause });
}

/** Statuses that another attempt may change (RFC 9110 §15; 425 is RFC 8470). */
const isPassing = (status: number): boolean => [408, 425, 429].includes(status) || status >= 500;

/** Seconds from a Retry-After header, which has seconds or a date (RFC 9110 §10.2.3). */
export function readRetryAfter(header: string | null | undefined): number | undefined {
  const wait = +(header as string) || (Date.parse(header as string) - Date.now()) / 1000;
  return wait > 0 ? wait : undefined;
}
