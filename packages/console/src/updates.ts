import { away, isUnreachable } from './screens/uploads/network.ts';
import { createStore } from './store.ts';

/** Whether the service has another version of the console than this page by now. */
export const isUpdated = createStore(false);

/** The script that a page begins with: its name changes with anything in it, or in what it loads. */
const own = document.querySelector('script[type=module]')?.getAttribute('src');

/** How long the version of the service is taken to be the same, and how often that time is checked, in milliseconds. */
const believedMilliseconds = 5 * 60_000;
const pauseMilliseconds = 60_000;

let lookedAt = performance.now();

async function look(): Promise<void> {
  lookedAt = performance.now();
  try {
    const page = await (await fetch('/', { headers: { Accept: 'text/html' }, cache: 'no-store' })).text();
    const [, script] = /<script type="module"[^>]* src="([^"]+)"/.exec(page) ?? [];
    if (script !== undefined && script !== own) isUpdated.set(true);
  } catch {
    // It is looked at again later.
  }
}

/** Looks for another version of the console: now and then, and when the service has been away. @returns ends it */
export function watchForUpdates(): () => void {
  const lookIfDue = () => {
    const isDue = performance.now() - lookedAt > believedMilliseconds;
    if (isDue && document.visibilityState === 'visible' && !isUpdated.read()) void look();
  };
  const timer = setInterval(lookIfDue, pauseMilliseconds);
  document.addEventListener('visibilitychange', lookIfDue);
  const unsubscribe = away.subscribe(() => {
    if (!isUnreachable()) void look();
  });
  return () => {
    clearInterval(timer);
    document.removeEventListener('visibilitychange', lookIfDue);
    unsubscribe();
  };
}
