import { isOffline, whenOnline } from '#platform';
import { CadizError, isCadizError } from './error.ts';

/** When work may go on, and when to interrupt it: what `pause` and `resume` act on. */
export interface Gate {
  /** Aborted when the work is to stop for now; renewed when it goes on. */
  readonly signal: AbortSignal;
  /** Resolves when the work may go on. */
  open(): Promise<void> | undefined;
}

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

const firstDelay = 400;
const longestDelay = 20_000;
/** The longest that a Retry-After is obeyed, in seconds. Beyond that, the caller is told. */
const longestRetryAfter = 300;

/**
 * Repeats a call until it succeeds, fails for good, or has failed too often: with growing delays of random length
 * ("full jitter"), at least as long as Retry-After asks for. While the machine is offline or the gate closed, it waits,
 * and that counts as no attempt.
 */
export async function retrying<T>(patience: Patience, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { retries, signal, gate, isPassing = ({ retryable }) => retryable } = patience;
  for (let attempt = 0; ; ) {
    await waitFor(Promise.all([gate?.open(), whenOnline()]), signal);
    const pausing = gate?.signal;
    try {
      return await run(anyOf(signal, pausing));
    } catch (thrown) {
      throwIfAborted(signal);
      const error = toCadizError(thrown);
      const { code, retryAfter = 0 } = error;
      if (pausing?.aborted || (isOffline() && code === 'network_failed')) continue;
      if (!isPassing(error) || attempt >= retries || retryAfter > longestRetryAfter) throw error;
      const delay = Math.random() * Math.min(longestDelay, firstDelay * 2 ** attempt++);
      await sleep(retryAfter * 1000 + delay, signal);
    }
  }
}

/** Aborted as soon as one of them is. */
export const anyOf = (...signals: (AbortSignal | undefined)[]): AbortSignal =>
  AbortSignal.any(signals.filter((signal) => signal !== undefined));

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

/** Waits for a promise that never rejects, and no longer once the signal aborts. @throws CadizError aborted */
async function waitFor(promise: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  throwIfAborted(signal);
  let stop = () => {};
  await new Promise<void>((resolve) => {
    stop = resolve;
    signal?.addEventListener('abort', stop);
    promise.then(stop);
  });
  signal?.removeEventListener('abort', stop);
  throwIfAborted(signal);
}

/** @throws CadizError aborted */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const slept = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await waitFor(slept, signal).finally(() => clearTimeout(timer));
}
