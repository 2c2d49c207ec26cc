import type { Check, Finding, Section, Verdict } from './check.ts';
import type { Examination } from './examination.ts';

/** The result of one check. */
export interface Result extends Omit<Finding, 'verdict'> {
  id: string;
  section: string;
  title: string;
  /** `skipped`: a check that this one needs has failed */
  verdict: Verdict | 'skipped';
}

/** Runs one check after another, and reports each result immediately. Stops between two checks if the signal aborts. */
export async function examine(
  exam: Examination,
  sections: readonly Section[],
  tell: (result: Result) => void,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const { title: section, checks } of sections) {
    for (const check of checks) {
      if (exam.signal.aborted) return results;
      const finding = findUnmet(check, results) ?? (await runCheck(check, exam));
      if (exam.signal.aborted) return results;
      const result: Result = { id: check.id, section, title: check.title, ...finding };
      results.push(result);
      tell(result);
    }
  }
  return results;
}

function findUnmet(
  { needs = [] }: Check,
  results: readonly Result[],
): Omit<Result, 'id' | 'section' | 'title'> | undefined {
  const unmet = results.find(
    ({ id, verdict }) => needs.includes(id) && (verdict === 'failed' || verdict === 'skipped'),
  );
  return unmet && { verdict: 'skipped', found: `Skipped, because this failed: "${unmet.title}".` };
}

async function runCheck(check: Check, exam: Examination): Promise<Finding> {
  try {
    return await check.run(exam);
  } catch (error) {
    return {
      verdict: 'failed',
      found: `It could not be checked: ${toSentence(error)}`,
      mend: `${check.mend ?? 'Run the doctor again.'} If the problem persists, the log of the object store says more.`,
    };
  }
}

function toSentence(error: unknown): string {
  if (!(error instanceof Error)) return `${String(error)}.`;
  const { code } = error as NodeJS.ErrnoException;
  // A host with several IP addresses fails with one error for each, and an empty message.
  const message = error.message || code || error.name;
  return /[.!]$/.test(message) ? message : `${message}.`;
}
