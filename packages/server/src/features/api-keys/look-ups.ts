import { setTimeout as delay } from 'node:timers/promises';
import { Problem } from '../../problem.ts';

/** Looks values up in the database by their hashes, many in one statement. */
export interface LookUps<T> {
  /** @throws Problem rate_limited when too many wait already, and whatever `ask` throws */
  find(hash: string): Promise<T | undefined>;
}

interface Waiting<T> {
  answer: Promise<T | undefined>;
  resolve: (found: T | undefined) => void;
  reject: (error: unknown) => void;
}

const hashesAtOnce = 1000;
const maxWaiting = 10_000;

/**
 * One statement at a time: what comes while one is under way is gathered for the next, so a flood costs the database
 * a few large statements. Nothing joins a statement that was sent: its answer may be older than a revocation.
 * @param pauseMilliseconds how long to gather before each statement
 */
export function createLookUps<T>(
  ask: (hashes: string[]) => Promise<ReadonlyMap<string, T>>,
  pauseMilliseconds = 0,
): LookUps<T> {
  const waiting = new Map<string, Waiting<T>>();
  let isAsking = false;

  async function askSome(): Promise<void> {
    const batch = [...waiting].slice(0, hashesAtOnce);
    for (const [hash] of batch) waiting.delete(hash);
    try {
      const found = await ask(batch.map(([hash]) => hash));
      for (const [hash, { resolve }] of batch) resolve(found.get(hash));
    } catch (error) {
      for (const [, { reject }] of batch) reject(error);
    }
  }

  async function askAll(): Promise<void> {
    isAsking = true;
    while (waiting.size > 0) {
      if (pauseMilliseconds > 0) await delay(pauseMilliseconds);
      await askSome();
    }
    isAsking = false;
  }

  return {
    find(hash) {
      const known = waiting.get(hash);
      if (known) return known.answer;
      if (waiting.size >= maxWaiting) {
        throw new Problem('rate_limited', 'Too many API keys are being looked up.', {
          headers: { 'Retry-After': '1' },
        });
      }
      const { promise: answer, resolve, reject } = withResolvers<T | undefined>();
      waiting.set(hash, { answer, resolve, reject });
      if (!isAsking) void askAll();
      return answer;
    },
  };
}

/** `Promise.withResolvers` of Node 22. */
function withResolvers<V>(): { promise: Promise<V>; resolve: (value: V) => void; reject: (error: unknown) => void } {
  let resolve: (value: V) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<V>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}
