import type { Fix } from '../checkup/check.ts';
import type { Result } from '../checkup/examine.ts';

/** A change that `--fix` is about to make at the store. */
export interface Change {
  fix: Fix;
  title: string;
  /** exactly what is added */
  text: string;
  /** Throws an Error with a sentence if the store refuses. */
  apply(): Promise<void>;
}

/** The fixes that the results call for, each once. */
export function toFixes(results: readonly Result[]): Fix[] {
  return [...new Set(results.flatMap(({ fix }) => fix ?? []))];
}
