import { isOffline, whenOnline } from '#platform';
import { CadizError, isCadizError } from './error.ts';

/** When work may go on, and when to interrupt it: what `pause` and `resume` act on. */
export interface Gate {
  /** Aborted when the work is to stop for now; renewed when it goes on. */
  readonly signal: AbortSignal;
  /** Resolves when the work may go on. */
  open(): Promise<void>;
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
    throwIfAborted(signal);
    await abortable(gate?.open(), signal);
    if (isOffline()) await abortable(whenOnline(), signal);
    const pausing = gate?.signal;
    try {
      return await run(anyOf(signal, pausing));
    } catch (thrown) {
      throwIfAborted(signal);
      if (pausing?.aborted) continue;
      const error = toCadizError(thrown);
      if (isOffline() && error.code === 'network_failed') continue;
      const asked = error.retryAfter ?? 0;
      if (!isPassing(error) || attempt >= retries || asked > longestRetryAfter) throw error;
      const delay = Math.random() * Math.min(longestDelay, firstDelay * 2 ** attempt++);
      await sleep(asked * 1000 + delay, signal);
    }
  }
}

/** Aborted as soon as one of them is. */
export const anyOf = (...signals: (AbortSignal | undefined)[]): AbortSignal =>
  AbortSignal.any(signals.filter((signal) => signal !== undefined));

/** @throws CadizError aborted */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw toAborted(signal);
}

const toAborted = ({ reason }: AbortSignal) => new CadizError('aborted', 'It was aborted.', { cause: reason });

/** Whatever was thrown, as a CadizError; anything else is taken for a failure of the network. */
export function toCadizError(thrown: unknown): CadizError {
  if (isCadizError(thrown)) return thrown;
  return new CadizError('network_failed', `The connection failed: ${thrown}`, { retryable: true, cause: thrown });
}

/** Waits for a promise, and no longer once the signal aborts. */
export function abortable<T>(promise: Promise<T> | T, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return Promise.resolve(promise);
  return new Promise((resolve, reject) => {
    const stop = () => reject(toAborted(signal));
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    Promise.resolve(promise)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', stop));
  });
}

export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout>;
  const slept = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  return abortable(slept, signal).finally(() => clearTimeout(timer));
}
