import { lazy, Suspense, useEffect, useSyncExternalStore } from 'react';
import { messageOf } from './problem.tsx';
import type { ToastData } from './toast-region.tsx';

const load = () => import('./toast-region.tsx');
const ToastRegion = lazy(async () => ({ default: (await load()).ToastRegion }));

let isNeeded = false;

const listeners = new Set<() => void>();

/** Says something for six seconds. With `undo`, ten seconds, and a button that takes it back. */
export async function toast(message: string, { undo }: ToastData = {}): Promise<void> {
  isNeeded = true;
  for (const listener of listeners) listener();
  const { manager, ready } = await load();
  await ready;
  manager.add({ id: 'only', title: message, timeout: undo ? 10_000 : 6000, data: { ...(undo && { undo }) } });
}

/** Says what went wrong. */
export const toastError = (error: unknown): Promise<void> => toast(messageOf(error));

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** How long after a page is there its messages are loaded, in milliseconds. */
const aheadMilliseconds = 3000;

/** Where messages are shown; loaded soon, since without a network it could not be when one is to be said. */
export function Toasts() {
  useEffect(() => {
    const timer = setTimeout(() => {
      // Loaded again with the first message.
      load().catch(() => undefined);
    }, aheadMilliseconds);
    return () => clearTimeout(timer);
  }, []);
  const isShown = useSyncExternalStore(subscribe, () => isNeeded);
  if (!isShown) return null;
  return (
    <Suspense>
      <ToastRegion />
    </Suspense>
  );
}
