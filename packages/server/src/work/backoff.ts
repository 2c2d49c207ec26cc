const firstSeconds = 5;
/** The longest wait before an attempt. */
export const capSeconds = 3600;

/**
 * How long to wait before the next attempt, in seconds: the wait doubles after each, up to an hour. Half of it is
 * jitter, so that tasks that failed together are not retried together.
 * @param attempt how many attempts have failed; 1 or more
 * @param random from 0 to 1
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ ("equal jitter")
 */
export function backoffSeconds(attempt: number, random: number = Math.random()): number {
  const full = Math.min(capSeconds, firstSeconds * 2 ** (attempt - 1));
  return full / 2 + (full / 2) * random;
}
