import { type RefObject, useLayoutEffect, useRef } from 'react';
import type { Lines } from './lines.ts';
import type { Entry } from './use-listing.ts';

/**
 * Entries that come in above what is looked at do not move it: the list is scrolled by as much.
 *
 * @param offset how far the list is scrolled, in pixels: asking the list itself would lay out all that has just been changed
 */
export function useSteadyRows(
  scroller: RefObject<HTMLElement | null>,
  entries: readonly Entry[],
  lines: Lines,
  offset: number,
): void {
  const before = useRef({ entries, lines });
  useLayoutEffect(() => {
    const earlier = before.current;
    before.current = { entries, lines };
    if (entries === earlier.entries) return;
    const list = scroller.current;
    const line = earlier.lines.at(offset);
    const [at, end] = earlier.lines.range(line);
    const first = at < end ? earlier.entries[at] : undefined;
    const added = entries.length - earlier.entries.length;
    if (!list || line === 0 || !first || added < 0) return;
    const now = entries.findIndex(({ id }) => id === first.id);
    // More than were added: it is another listing, or another order.
    if (now >= at && now - at <= added) list.scrollTop += lines.topOf(lines.of(now)) - earlier.lines.topOf(line);
  }, [scroller, entries, lines, offset]);
}
