import type { Examination } from './examination.ts';

export type Verdict = 'ok' | 'warning' | 'failed';

/** Something that `--fix` can change at the store. */
export type Fix = 'cors' | 'policy';

/** What one check found, in sentences for people. */
export interface Finding {
  verdict: Verdict;
  /** what was seen, and what it means */
  found: string;
  /** what to do about it; present with every verdict except ok */
  mend?: string;
  /** the fix that `--fix` applies for it */
  fix?: Fix;
}

/** One thing that must be true of the object store, or of the way to it or to the service. */
export interface Check {
  id: string;
  /** the requirement itself, as a sentence that is true or false */
  title: string;
  /** Checks that must pass for this one to mean anything. */
  needs?: readonly string[];
  /** What helps if one of its requests is refused. */
  mend?: string;
  /** An error counts as failed. */
  run(exam: Examination): Promise<Finding>;
}

/** Checks that are printed together. */
export interface Section {
  title: string;
  checks: readonly Check[];
}

export function ok(found: string): Finding {
  return { verdict: 'ok', found };
}

/** It works, but somebody should know. */
export function warning(found: string, mend: string): Finding {
  return { verdict: 'warning', found, mend };
}

export function failed(found: string, mend: string, fix?: Fix): Finding {
  return { verdict: 'failed', found, mend, ...(fix && { fix }) };
}
