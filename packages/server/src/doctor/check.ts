import type { Examination } from './examination.ts';

export type Verdict = 'ok' | 'warning' | 'failed';

/** Something that `--fix` can change at the store. */
export type Fix = 'cors' | 'policy';

/** What one check found, in sentences for people. */
export interface Finding {
  verdict: Verdict;
  /** what was seen, and what it means */
  found: string;
  /** what to do about it; with every verdict but ok */
  mend?: string;
  /** whether `--fix` does it */
  fix?: Fix;
}

/** One thing that must be true of the object store. */
export interface Check {
  id: string;
  /** the thing itself, as a sentence: it holds, or it does not */
  title: string;
  /** Checks without which this one would say nothing. */
  needs?: readonly string[];
  /** What it throws counts as failed. */
  run(exam: Examination): Promise<Finding>;
}

/** Checks that belong together, as they are printed. */
export interface Section {
  title: string;
  checks: readonly Check[];
}

export function ok(found: string): Finding {
  return { verdict: 'ok', found };
}

/** Works, but somebody should know. */
export function warning(found: string, mend: string): Finding {
  return { verdict: 'warning', found, mend };
}

export function failed(found: string, mend: string, fix?: Fix): Finding {
  return { verdict: 'failed', found, mend, ...(fix && { fix }) };
}
