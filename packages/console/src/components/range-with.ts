import { defaultRangeExtractor, type Range } from '@tanstack/react-virtual';

/** The lines of a list that are drawn: those in sight, and the one that the keys go on from. -1 if there is none. */
export function rangeWith(range: Range, line: number): number[] {
  const shown = defaultRangeExtractor(range);
  return line < 0 || shown.includes(line) ? shown : [...shown, line].sort((a, b) => a - b);
}
