import type { PointerEvent } from 'react';
import { phone } from '../screens/shell/use-is-phone.ts';
import '../styles/screens/drag-down.css';

/** How far a sheet has to be dragged down to be closed, in pixels. */
const farEnough = 80;

/** For a sheet from below: dragging it down by its head or handle, and letting go, closes it. */
export const toDragDown = (close: () => void) => ({
  onPointerDown({
    currentTarget: sheet,
    target,
    pointerId,
    pointerType,
    isPrimary,
    clientY,
  }: PointerEvent<HTMLElement>) {
    if (!phone.matches || !isPrimary || pointerType === 'mouse') return;
    // React brings here the events of what the sheet has opened, too, which is not within it.
    if (!(target instanceof Element) || !sheet.contains(target)) return;
    if (target !== sheet && (!target.closest('.grip') || target.closest('a, button'))) return;
    let down = 0;
    const end = new AbortController();
    const on = (type: 'pointermove' | 'pointerup' | 'pointercancel', listener: (y: number) => void) =>
      window.addEventListener(type, (event) => event.pointerId === pointerId && listener(event.clientY), end);
    on('pointermove', (y) => {
      down = Math.max(0, y - clientY);
      sheet.style.transform = `translateY(${down}px)`;
    });
    on('pointerup', () => {
      end.abort();
      if (down < farEnough) sheet.style.transform = '';
      else close();
    });
    // Such as when the browser scrolls instead.
    on('pointercancel', () => {
      end.abort();
      sheet.style.transform = '';
    });
  },
});
