import type { RunningStore } from '@cadiz/store';
import pLimit from 'p-limit';
import type { StoreRequest } from '../telemetry/observed.ts';
import { unavailable } from './s3-connection.ts';
import type { Peek } from './s3-store.ts';

const silenceMilliseconds = 4_000;
/** Each may hold a file open. */
const atOnce = 64;

/**
 * Reads the first bytes of objects in the embedded store's thread without a request: recording a file would spend half
 * its time on that (decision 0100). Counted as the request that it replaces.
 */
export function peekEmbedded(
  store: Pick<RunningStore, 'peek'>,
  bucket: string,
  observe?: (request: StoreRequest) => void,
): Peek {
  const limit = pLimit(atOnce);
  return async (key, length) => {
    const started = performance.now();
    let outcome: StoreRequest['outcome'] = 'failed';
    try {
      const found = await inTime(limit(() => store.peek({ bucket, key }, length)));
      outcome = 'answered';
      return found && { ...found, firstBytes: Buffer.from(found.firstBytes.buffer) };
    } catch (cause) {
      throw unavailable('The embedded object store cannot read the object.', cause);
    } finally {
      observe?.({ operation: 'GetObject', outcome, seconds: (performance.now() - started) / 1000 });
    }
  };
}

/** A disk that does not answer must not hold up whoever waits. The time that the work waits for its turn counts. */
function inTime<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(() => {
      reject(new Error(`no answer within ${silenceMilliseconds / 1000} s`));
    }, silenceMilliseconds);
    work.then(resolve, reject).finally(() => clearTimeout(deadline));
  });
}
