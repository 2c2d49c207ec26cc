import type { PointerEvent } from 'react';

/** How long a finger rests on an entry to choose it, in milliseconds, and how far it may slip meanwhile, in pixels. */
const restMilliseconds = 500;
const slipPixels = 10;

/** Whether what last went down on an entry was a finger, and whether that has rested since. */
let isFinger = false;
let hasRested = false;

/** Whether a click comes from a finger. */
export const isTouch = (): boolean => isFinger;
/** Whether it comes from a finger that has rested: that has chosen something already. */
export const isAfterRest = (): boolean => isFinger && hasRested;

/** Called when something goes down on an entry. @param choose called when it is a finger that rests there */
export function touch({ pointerType, isPrimary, clientX, clientY, target }: PointerEvent, choose: () => void): void {
  isFinger = pointerType === 'touch';
  hasRested = false;
  // The box and the menu of an entry have taps of their own.
  if (!isFinger || !isPrimary || (target instanceof Element && target.closest('button, input'))) return;
  const end = new AbortController();
  const timer = setTimeout(() => rest(choose), restMilliseconds);
  const stop = () => {
    clearTimeout(timer);
    end.abort();
  };
  window.addEventListener('pointerup', stop, end);
  window.addEventListener('pointercancel', stop, end);
  window.addEventListener(
    'pointermove',
    (event) => {
      if (Math.hypot(event.clientX - clientX, event.clientY - clientY) > slipPixels) stop();
    },
    end,
  );
}

/** Chooses an entry, once for each time that a finger rests: some browsers report that too, and some of them sooner. */
export function rest(choose: () => void): void {
  if (hasRested) return;
  hasRested = true;
  choose();
}
