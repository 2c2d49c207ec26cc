import { Problem } from '../problem.ts';

/** Looks values up in the database by hash, many in one statement. */
export interface LookUps<T> {
  /** @throws Problem rate_limited if too many are already waiting, and whatever `ask` throws */
  find(hash: string): Promise<T | undefined>;
}

interface Waiting<T> {
  answer: Promise<T | undefined>;
  resolve: (found: T | undefined) => void;
  reject: (error: unknown) => void;
}

const hashesAtOnce = 1000;
const maxUnanswered = 10_000;

/**
 * Collects look-ups for a moment and sends them in one statement, so that a flood costs the database a few large ones.
 * No statement waits for the one before it, which may hang. No look-up joins a statement already sent, because its
 * answer may be older than a revocation.
 */
export function createLookUps<T>(
  ask: (hashes: string[]) => Promise<ReadonlyMap<string, T>>,
  gatherMilliseconds: number,
): LookUps<T> {
  const waiting = new Map<string, Waiting<T>>();
  let unanswered = 0;
  let isDue = false;

  function sendLater(): void {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      const batch = [...waiting].slice(0, hashesAtOnce);
      for (const [hash] of batch) waiting.delete(hash);
      void send(batch);
      if (waiting.size > 0) sendLater();
    }, gatherMilliseconds);
  }

  async function send(batch: [string, Waiting<T>][]): Promise<void> {
    try {
      const found = await ask(batch.map(([hash]) => hash));
      for (const [hash, { resolve }] of batch) resolve(found.get(hash));
    } catch (error) {
      for (const [, { reject }] of batch) reject(error);
    } finally {
      unanswered -= batch.length;
    }
  }

  return {
    find(hash) {
      const known = waiting.get(hash);
      if (known) return known.answer;
      if (unanswered >= maxUnanswered) {
        throw new Problem('rate_limited', 'Too many API keys and tickets are being checked right now.', {
          headers: { 'Retry-After': '1' },
        });
      }
      unanswered += 1;
      const { promise: answer, resolve, reject } = withResolvers<T | undefined>();
      waiting.set(hash, { answer, resolve, reject });
      sendLater();
      return answer;
    },
  };
}

/** `Promise.withResolvers`, which Node has from version 22. */
function withResolvers<V>(): { promise: Promise<V>; resolve: (value: V) => void; reject: (error: unknown) => void } {
  let resolve: (value: V) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<V>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}
