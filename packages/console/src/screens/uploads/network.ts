/** Whether the service can be reached. Looked at when something has gone wrong, and until it can. */

let isAway = !navigator.onLine;
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

function set(away: boolean): void {
  if (away === isAway) return;
  isAway = away;
  for (const listener of listeners) listener();
}

/** Looks whether the service can be reached; if not, goes on looking until it can. Resolves after the first look. */
export function look(): Promise<void> {
  clearTimeout(timer);
  // Without a network it is over at once, before there is anything to forget.
  probing ??= probe().finally(() => {
    probing = undefined;
  });
  return probing;
}

async function probe(): Promise<void> {
  const away = !navigator.onLine || !(await answers());
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

window.addEventListener('offline', () => set(true));
window.addEventListener('online', look);
if (isAway) void look();
