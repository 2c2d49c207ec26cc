import { hasJustAnswered, whenUnanswered } from '../../api.ts';
import { createStore } from '../../store.ts';

/** Whether the service can be reached. This is tested when a request has failed, and then again and again until it can. */

/** What is away if it cannot: the network, as far as the browser knows, or else only the service. */
export const away = createStore<'network' | 'service' | undefined>(undefined);

let probing: Promise<void> | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

/** How long to wait between looks, in milliseconds. */
const pauseMilliseconds = 2000;
const timeoutMilliseconds = 5000;

export const isUnreachable = (): boolean => away.read() !== undefined;

/** Resolves once the service can be reached: at once if nothing says that it cannot. */
export function untilReachable(): Promise<void> {
  if (!isUnreachable()) return Promise.resolve();
  return new Promise((resolve) => {
    const unsubscribe = away.subscribe(() => {
      if (isUnreachable()) return;
      unsubscribe();
      resolve();
    });
  });
}

/** The same for requests that must not fail: looks first, unless the service has just answered. */
export async function untilAnswering(): Promise<void> {
  if (!hasJustAnswered()) await look();
  await untilReachable();
}

/** Looks whether the service can be reached; if not, goes on looking until it can. Resolves after the first look. */
export function look(): Promise<void> {
  clearTimeout(timer);
  probing ??= probe().finally(() => {
    probing = undefined;
  });
  return probing;
}

async function probe(): Promise<void> {
  away.set((await answers()) ? undefined : navigator.onLine ? 'service' : 'network');
  if (isUnreachable()) timer = setTimeout(look, pauseMilliseconds);
}

/** Whether there is an answer, whatever it says. */
async function answers(): Promise<boolean> {
  try {
    await fetch('/livez', { cache: 'no-store', signal: AbortSignal.timeout(timeoutMilliseconds) });
    return true;
  } catch {
    return false;
  }
}

whenUnanswered(look);
// A service on this machine needs no network. A look that had begun before tells nothing.
window.addEventListener('offline', () => void look().then(look));
window.addEventListener('online', look);
