import { isOffline } from '#platform';
import { CadizError, isCadizError } from './error.ts';

/**
 * Runs something when it may go on, and interrupts it when it is to stop for now, to run it again later: what `pause` and
 * `resume` act on.
 */
export type Gate = <T>(run: (signal: AbortSignal) => Promise<T>, signal: AbortSignal | undefined) => Promise<T>;

/** What ends work, and what interrupts it. */
export interface Pace {
  signal?: AbortSignal | undefined;
  gate?: Gate | undefined;
}

export interface Patience extends Pace {
  /** How often a call is repeated after its first failure. */
  retries: number;
  /** Which errors another attempt may mend. */
  isPassing?: ((error: CadizError) => boolean) | undefined;
}

/** How often an offline machine looks whether it is online again, in milliseconds. */
const betweenLooks = 250;
/** After how many looks it tries all the same: what runs on the machine itself needs no network. */
const mostLooks = 20;
const firstDelay = 400;
const longestDelay = 20_000;
/** The longest that a Retry-After is obeyed, in seconds. Beyond that, the caller is told. */
const longestRetryAfter = 300;

/**
 * Repeats a call until it succeeds, fails for good, or has failed too often: with growing delays of random length
 * ("full jitter"), at least as long as Retry-After asks for. What fails for want of a network while the machine is offline counts as no
 * attempt: it waits until there is one.
 */
export async function retrying<T>(patience: Patience, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { retries, signal, gate = (run) => run(anyOf(signal)), isPassing = ({ retryable }) => retryable } = patience;
  for (let attempt = 0; ; ) {
    throwIfAborted(signal);
    const wasOffline = isOffline();
    try {
      return await gate(run, signal);
    } catch (thrown) {
      throwIfAborted(signal);
      const error = toCadizError(thrown);
      const { code, retryAfter = 0 } = error;
      const mayPass = isPassing(error);
      // What was sent before the network went away may have been done.
      if (code === 'network_failed' && (wasOffline || (mayPass && isOffline()))) {
        for (let looks = 0; isOffline() && looks++ < mostLooks; ) await sleep(signal, undefined, betweenLooks);
        continue;
      }
      if (!mayPass || !(attempt < retries) || retryAfter > longestRetryAfter) throw error;
      const delay = Math.random() * Math.min(longestDelay, firstDelay * 2 ** attempt++);
      await sleep(signal, undefined, retryAfter * 1000 + delay);
    }
  }
}

/** Aborted as soon as one of them is. */
export const anyOf = (...signals: (AbortSignal | undefined)[]): AbortSignal =>
  AbortSignal.any(signals.filter(Boolean) as AbortSignal[]);

/** @throws CadizError aborted */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new CadizError('aborted', 'It was aborted.', { cause: signal.reason });
}

/** Whatever was thrown, as a CadizError; anything else is taken for a failure of the network. */
export function toCadizError(thrown: unknown): CadizError {
  if (isCadizError(thrown)) return thrown;
  const code = (thrown as Error | undefined)?.name === 'TimeoutError' ? 'timed_out' : 'network_failed';
  return new CadizError(code, `The connection failed: ${thrown}`, { retryable: true, cause: thrown });
}

/** About as long as a timer can be, in milliseconds. */
const longestSleep = 1e9;

/**
 * Waits for that long, or until some work has settled before. If it is aborted, the work goes on, since others may be waiting for it.
 *
 * @returns what the work answers
 * @throws CadizError aborted; whatever the work throws
 */
export async function sleep<T = void>(
  ending?: AbortSignal,
  work?: Promise<T>,
  milliseconds = longestSleep,
): Promise<T> {
  // One of its own: Node 20 warns of more than ten listeners, as of many uploads with one signal.
  const signal = anyOf(ending);
  throwIfAborted(signal);
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener('abort', end);
    work?.then(end, end);
  });
  throwIfAborted(signal);
  return work as Promise<T>;
}
