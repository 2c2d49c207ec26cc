/** What Standard Webhooks 1.0 recommends: how long to wait before each attempt, in seconds; 75 h 35 min in all. */
const waits = [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];

/** How far a wait is moved at random, so that what failed together is not attempted together. */
const jitter = 0.2;

/** How many attempts there are. */
export const attemptsAtMost = waits.length;

/** The longest wait before an attempt, in seconds. */
export const longestWaitSeconds = 2 * Math.max(...waits);

/** What the receiver asks for with these is patience: the whole endpoint waits. */
const throttles = new Set([429, 502, 504]);

/** The longest that a whole endpoint waits because of one delivery. */
export const longestPauseSeconds = 300;

/** What a failed attempt shows about the next ones. */
export interface Failure {
  /** How many attempts have failed, with this one. */
  attempts: number;
  /** The status of the answer; undefined if there was none. */
  status: number | undefined;
  /** As the receiver sent it. */
  retryAfter: string | undefined;
  /** Unix milliseconds. */
  at: number;
}

/**
 * How long to wait before the next attempt, in seconds; undefined after the last one. A `Retry-After` counts from what would be
 * waited anyway up to twice that.
 * @param random from 0 to 1
 */
export function toWait({ attempts, retryAfter, at }: Failure, random: number = Math.random()): number | undefined {
  const base = waits[attempts];
  if (base === undefined) return undefined;
  const asked = readRetryAfter(retryAfter, at);
  if (asked !== undefined) return Math.min(Math.max(asked, base), 2 * base);
  return base * (1 - jitter + 2 * jitter * random);
}

/**
 * For how long, in seconds, the whole endpoint is to be left alone: it asks for that, or does not answer.
 * @param wait until the next attempt of the same delivery
 */
export function toPause({ status }: Pick<Failure, 'status'>, wait: number | undefined): number {
  const isThrottled = status === undefined || throttles.has(status);
  return isThrottled ? Math.min(wait ?? longestPauseSeconds, longestPauseSeconds) : 0;
}

/** Seconds or a date (RFC 9110 §10.2.3); undefined for anything else. */
function readRetryAfter(value: string | undefined, at: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : (date - at) / 1000;
}
