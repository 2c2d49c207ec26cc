import type { ErrorCode } from '@cadiz/contract';
import type { Logger } from 'pino';
import type { Problem } from '../problem.ts';
import type { Answered } from './observed.ts';

/** The settings of the access log. */
export interface AccessLogSettings {
  /** A request that takes longer is logged. */
  logSlowMilliseconds: number;
  /** One in this many other requests is logged; 0 for none. */
  logSample: number;
}

/** A request, as far as the log tells of it. */
export interface LoggedRequest {
  requestId: string;
  traceId: string | undefined;
  operation: string;
  /** The project that it names or its key belongs to; undefined if neither. */
  projectId: string | undefined;
  keyId: string | undefined;
}

/**
 * One line for each request that failed, was slow or belongs to the sample. `docs/logs-and-traces.md` promises the
 * fields. There is no URL in it: a path may name files and tokens, and a query may have a signature.
 */
export interface AccessLog {
  /** Looks at an answered request. @param facts are asked for only if there is a line */
  answered(answered: Answered, facts: () => LoggedRequest, failure?: Problem): void;
  /** Logs a failure of the service that is not the answer to a whole request. */
  failed(facts: LoggedRequest, failure: Problem): void;
}

/** Nothing has failed: too many ask at once, or it takes time. */
const busy: ReadonlySet<ErrorCode> = new Set(['archives_busy', 'image_not_ready', 'links_busy', 'too_many_listings']);

/** All of these have one reason, which is logged when it changes. */
const dependencyDown: ReadonlySet<ErrorCode> = new Set(['database_unavailable', 'store_unavailable']);

/** These may have one, such as a folder for temporary files that is missing or full, which nothing else tells of. */
const hasReason = ({ code, cause }: Problem) =>
  dependencyDown.has(code) || (code === 'image_not_ready' && cause !== undefined);

/** A dependency without a failure for this long has recovered: its next failure is news. */
const recoveredMilliseconds = 60_000;

/** These wait because they are told to. */
const waits: ReadonlySet<string> = new Set(['readEvents']);

/** @param now milliseconds of a clock that never goes back, as `Answered.started` */
export function createAccessLog(
  { logSlowMilliseconds, logSample }: AccessLogSettings,
  log: Logger,
  now: () => number = () => performance.now(),
): AccessLog {
  const failing = new Map<ErrorCode, { reason: string; at: number }>();
  let unsampled = 0;

  /** Whether the error behind a failure is news. */
  function isNews(failure: Problem): boolean {
    const { code, cause } = failure;
    if (!hasReason(failure)) return !busy.has(code);
    const reason = toReason(cause);
    const before = failing.get(code);
    const at = now();
    failing.set(code, { reason, at });
    return before?.reason !== reason || at - before.at > recoveredMilliseconds;
  }

  function logFailure(fields: object, failure: Problem): void {
    const line = { ...fields, code: failure.code };
    if (!isNews(failure)) log.warn(line, failure.message);
    else log[busy.has(failure.code) ? 'warn' : 'error']({ ...line, error: failure.cause ?? failure }, failure.message);
  }

  function isInSample(): boolean {
    if (logSample === 0) return false;
    unsampled += 1;
    if (unsampled < logSample) return false;
    unsampled = 0;
    return true;
  }

  return {
    answered({ operation, status, started }, facts, failure) {
      const milliseconds = now() - started;
      const toFields = () => ({ ...facts(), status, ms: Math.round(milliseconds * 10) / 10 });
      if (failure && failure.status >= 500) logFailure(toFields(), failure);
      else if (milliseconds > logSlowMilliseconds && !waits.has(operation)) log.info(toFields(), 'A slow request');
      else if (isInSample()) log.info(toFields(), 'A request');
      else if (log.isLevelEnabled('debug')) log.debug(toFields(), 'A request');
    },
    failed: (facts, failure) => logFailure(facts, failure),
  };
}

/** What distinguishes one outage from another: `ECONNREFUSED`, `57P01`, or the words of an error without a code. */
function toReason(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { code } = cause as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : cause.message;
}
