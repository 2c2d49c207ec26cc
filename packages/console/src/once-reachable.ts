import { isUnreachable, look, untilAnswering } from './screens/uploads/network.ts';
import { createStore } from './store.ts';

/** Whether the service no longer has a part of this page: it has another version of the console by now. */
export const isOutdated = createStore(false);

/**
 * For parts of the console that are loaded when they are first needed. While the service cannot be reached, they wait until it can: an
 * error would take the place of the whole page, with the uploads that wait for the network.
 *
 * @returns what loads the part. It never settles if the service can be reached and does not have it, so that what was typed stays
 */
export function onceReachable<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= loadReachable(load).catch(() => new Promise<never>(() => undefined));
    return loading;
  };
}

/** The same for what takes the place of a whole screen. It rejects if the service does not have it. */
export async function loadReachable<T>(load: () => Promise<T>): Promise<T> {
  for (let hasFailedReachable = false; ; ) {
    // Firefox never tries again what it once failed to load, so nothing is asked for that cannot be answered.
    await untilAnswering();
    try {
      return await load();
    } catch (error) {
      await look();
      // It may have come back by now, and then another try succeeds; if not, something else is wrong.
      if (!isUnreachable() && hasFailedReachable) {
        isOutdated.set(true);
        throw error;
      }
      hasFailedReachable = !isUnreachable();
    }
  }
}

// Vite takes every stylesheet in the page for a loaded one, even if loading it has failed.
window.addEventListener('error', ({ target }) => target instanceof HTMLLinkElement && target.remove(), {
  capture: true,
});
