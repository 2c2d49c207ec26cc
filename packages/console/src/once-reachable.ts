import { isUnreachable, look, untilReachable } from './screens/uploads/network.ts';

/**
 * For parts of the console that are loaded when they are first needed. While the service cannot be reached, they wait until it can: an
 * error would take the place of the whole page, with the uploads that wait for the network.
 *
 * @returns what loads the part; it rejects if the service can be reached and does not have it
 */
export const onceReachable =
  <T>(load: () => Promise<T>): (() => Promise<T>) =>
  async () => {
    for (let hasFailedReachable = false; ; ) {
      try {
        return await load();
      } catch (error) {
        await look();
        // It may have come back by now, and then another try succeeds; if not, something else is wrong.
        if (!isUnreachable() && hasFailedReachable) throw error;
        hasFailedReachable = !isUnreachable();
        await untilReachable();
      }
    }
  };

// Vite takes a stylesheet that is in the page for one that has been loaded, also if it could not be.
window.addEventListener('error', ({ target }) => target instanceof HTMLLinkElement && target.remove(), {
  capture: true,
});
