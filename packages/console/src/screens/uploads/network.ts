import { hasJustAnswered } from '../../api.ts';

/** Whether the service can be reached. Looked at when something has gone wrong, and until it can. */

let isAway = false;
let probing: Promise<void> | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

/** How long to wait between looks, in milliseconds. */
const pauseMilliseconds = 2000;
const timeoutMilliseconds = 5000;

export const isUnreachable = (): boolean => isAway;

/** Calls the listener when it goes away and when it comes back. */
export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Resolves once the service can be reached: at once if nothing says that it cannot. */
export function untilReachable(): Promise<void> {
  if (!isAway) return Promise.resolve();
  return new Promise((resolve) => {
    const unsubscribe = subscribe(() => {
      if (isAway) return;
      unsubscribe();
      resolve();
    });
  });
}

/** The same for what is lost if it is asked for in vain: looks, unless the service has just answered. */
export async function untilAnswering(): Promise<void> {
  if (!hasJustAnswered()) await look();
  await untilReachable();
}

function set(away: boolean): void {
  if (away === isAway) return;
  isAway = away;
  for (const listener of listeners) listener();
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
  const away = !(await answers());
  set(away);
  if (away) timer = setTimeout(look, pauseMilliseconds);
}

/** Whatever it answers. */
async function answers(): Promise<boolean> {
  try {
    await fetch('/livez', { cache: 'no-store', signal: AbortSignal.timeout(timeoutMilliseconds) });
    return true;
  } catch {
    return false;
  }
}

// A service on this machine needs no network. A look that had begun before tells nothing.
window.addEventListener('offline', () => void look().then(look));
window.addEventListener('online', look);
