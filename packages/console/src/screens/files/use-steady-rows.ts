import { type RefObject, useLayoutEffect, useRef } from 'react';
import type { Entry } from './use-listing.ts';

interface Sizes {
  columns: number;
  /** Of a line, in pixels. */
  height: number;
}

/** Entries that come in above what is looked at do not move it: the list is scrolled by as much. */
export function useSteadyRows(
  scroller: RefObject<HTMLElement | null>,
  entries: readonly Entry[],
  { columns, height }: Sizes,
): void {
  const before = useRef(entries);
  useLayoutEffect(() => {
    const earlier = before.current;
    before.current = entries;
    const list = scroller.current;
    const line = list ? Math.floor(list.scrollTop / height) : 0;
    const first = earlier[line * columns];
    const added = entries.length - earlier.length;
    if (!list || line === 0 || !first || added <= 0) return;
    const moved = entries.findIndex(({ id }) => id === first.id) - line * columns;
    // More than were added: it is another listing, or another order.
    if (moved > 0 && moved <= added) list.scrollTop += Math.round(moved / columns) * height;
  }, [scroller, entries, columns, height]);
}
