import { lazy, Suspense, useEffect, useSyncExternalStore } from 'react';
import { onceReachable } from '../once-reachable.ts';
import { createStore } from '../store.ts';
import { straighten } from '../straighten.ts';
import { detailsOf, messageOf } from './problem.tsx';
import type { ToastData } from './toast-region.tsx';

const load = onceReachable(() => import('./toast-region.tsx'));
const ToastRegion = lazy(async () => ({ default: (await load()).ToastRegion }));

const isNeeded = createStore(false);

/** Shows a message for six seconds; with `undo` for ten, and with a button that takes the change back. */
export async function toast(message: string, data: ToastData = {}): Promise<void> {
  isNeeded.set(true);
  const { manager, ready } = await load();
  await ready;
  manager.add({
    id: 'only',
    title: straighten(message),
    timeout: data.isGoingOn ? 0 : data.undo || data.details ? 10_000 : 6000,
    data,
  });
}

/** Takes the button away that takes a change back, but leaves its message: somebody has begun another change, and might mean that. */
export async function withdrawUndo(): Promise<void> {
  if (!isNeeded.read()) return;
  const { manager } = await load();
  manager.update('only', ({ data: { undo, ...data } = {} }) => ({ data }));
}

/** Says what went wrong; its request id can be copied. */
export function toastError(error: unknown): Promise<void> {
  const details = detailsOf(error);
  return toast(messageOf(error), details === undefined ? {} : { details });
}

/** How long after the page what shows messages is loaded, in milliseconds. */
const aheadMilliseconds = 3000;

/** Where messages are shown. It is loaded before it is needed: by then, there may be no network. */
export function Toasts() {
  useEffect(() => {
    const timer = setTimeout(() => {
      // Loaded again with the first message.
      load().catch(() => undefined);
    }, aheadMilliseconds);
    return () => clearTimeout(timer);
  }, []);
  const isShown = useSyncExternalStore(isNeeded.subscribe, isNeeded.read);
  if (!isShown) return null;
  return (
    <Suspense>
      <ToastRegion />
    </Suspense>
  );
}
