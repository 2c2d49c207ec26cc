import type { Fix } from './check.ts';
import type { Result } from './examine.ts';

/** Something that `--fix` is about to change at the store. */
export interface Change {
  fix: Fix;
  title: string;
  /** exactly what is added */
  text: string;
  /** Throws an Error with a sentence when the store refuses. */
  apply(): Promise<void>;
}

/** What the results ask for, each once. */
export function toFixes(results: readonly Result[]): Fix[] {
  return [...new Set(results.flatMap(({ fix }) => fix ?? []))];
}
