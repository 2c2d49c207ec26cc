import { type RefObject, useLayoutEffect, useRef } from 'react';
import type { Lines } from './lines.ts';
import type { Entry } from './use-listing.ts';

/** How many entries are looked for again: about as many as are in sight. */
const lookedAt = 50;

/**
 * Entries that come or go above what is looked at do not move it: the list is scrolled by as much.
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
    if (!list || line === 0 || at === end || entries[at]?.id === earlier.entries[at]?.id) return;
    const [first, ...others] = findStayed(earlier.entries, at, entries);
    // In another order, it is another listing.
    if (!first || others.some(({ was }, index) => was < (others[index - 1] ?? first).was)) return;
    const moved = lines.topOf(lines.of(first.now)) - earlier.lines.topOf(earlier.lines.of(first.was));
    // A list that is shorter now may have been scrolled to its new end.
    if (moved !== 0) list.scrollTop = (moved < 0 ? offset : list.scrollTop) + moved;
  }, [scroller, entries, lines, offset]);
}

/** Which of the entries from an index on are there still: where they were, and where they are. */
function findStayed(earlier: readonly Entry[], at: number, entries: readonly Entry[]) {
  const places = new Map(earlier.slice(at, at + lookedAt).map(({ id }, index) => [id, at + index]));
  return entries.flatMap(({ id }, now) => {
    const was = places.get(id);
    return was === undefined ? [] : [{ was, now }];
  });
}
