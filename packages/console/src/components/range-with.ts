import { defaultRangeExtractor, type Range } from '@tanstack/react-virtual';

/**
 * Which lines of a list to draw: those in sight, and the one that has the keyboard focus, wherever it is.
 *
 * @param line the index of the line with the focus; -1 if none has it
 */
export function rangeWith(range: Range, line: number): number[] {
  const shown = defaultRangeExtractor(range);
  return line < 0 || shown.includes(line) ? shown : [...shown, line].sort((a, b) => a - b);
}
