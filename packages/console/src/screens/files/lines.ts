import type { Loaded } from './use-listing.ts';

/** How entries stand in lines, each of as many as there are columns. */
export interface Lines {
  /** How many lines there are. */
  count: number;
  /** The line in place of what has not been loaded, if there are entries after it. */
  gap: number | undefined;
  /** The line that the entry at an index stands in. */
  of(index: number): number;
  /** The index of the first entry of a line, and that after its last. The line of the gap has none. */
  range(line: number): readonly [from: number, to: number];
}

/** @param columns how many entries stand in a line */
export function toLines({ entries: { length }, gapAt = length }: Loaded, columns: number): Lines {
  const gap = gapAt < length ? Math.ceil(gapAt / columns) : undefined;
  const afterGap = (gap ?? 0) + 1;
  const of = (index: number) => Math.floor(index < gapAt ? index / columns : afterGap + (index - gapAt) / columns);
  return {
    count: length === 0 ? 0 : of(length - 1) + 1,
    gap,
    of,
    range(line) {
      if (line === gap) return [gapAt, gapAt];
      const isBefore = gap === undefined || line < gap;
      const from = isBefore ? line * columns : gapAt + (line - afterGap) * columns;
      return [from, Math.min(from + columns, isBefore ? gapAt : length)];
    },
  };
}
