import type { Fix } from '../checkup/check.ts';
import { toSections } from '../checkup/checks.ts';
import { createExamination, type Examination, type ExaminationOptions } from '../checkup/examination.ts';
import { examine, type Result } from '../checkup/examine.ts';
import { type Change, toFixes } from './change.ts';
import { planCors } from './fix-cors.ts';
import { planPolicy } from './fix-policy.ts';
import type { Report } from './report.ts';

export interface DoctorOptions extends ExaminationOptions {
  /** What is checked, in words. */
  subject: string;
  report: Report;
  /** Whether to apply the fixes that can be applied at the store. */
  fix: boolean;
  /** Asked before each change. */
  agree: (change: Change) => Promise<boolean>;
}

const planners: Readonly<Record<Fix, (exam: Examination) => Promise<Change>>> = { cors: planCors, policy: planPolicy };

/** Runs all checks, applies the fixes it may apply, and checks again. Resolves with whether nothing failed in the end. */
export async function runDoctor(options: DoctorOptions): Promise<boolean> {
  const exam = createExamination(options);
  const { report, signal } = options;
  try {
    report.start(options.subject, exam.prefix);
    let results = await look(exam, report);
    if (options.fix && !signal.aborted && (await applyFixes(exam, options, results))) {
      report.again();
      results = await lookAgain(options);
    }
    report.end(results);
    return !signal.aborted && results.every(({ verdict }) => verdict !== 'failed');
  } finally {
    exam.close();
  }
}

async function look(exam: Examination, report: Report): Promise<Result[]> {
  try {
    return await examine(exam, toSections(exam), report.result);
  } finally {
    const left = await exam.sweep();
    if (left.length > 0) report.left(left);
  }
}

/** Uses a new prefix, so that nothing from the first run is in the way. */
async function lookAgain(options: DoctorOptions): Promise<Result[]> {
  const exam = createExamination(options);
  try {
    return await look(exam, options.report);
  } finally {
    exam.close();
  }
}

/** Whether anything was changed. */
async function applyFixes(
  exam: Examination,
  { report, agree }: DoctorOptions,
  results: readonly Result[],
): Promise<boolean> {
  let hasChanged = false;
  for (const fix of toFixes(results)) {
    const change = await planners[fix](exam).catch((error: unknown) => toRefusal(fix, error));
    report.change(change);
    if (!(await agree(change))) continue;
    const reason = await change.apply().then(
      () => undefined,
      (error: unknown) => String(error instanceof Error ? error.message : error),
    );
    report.changed(change, reason);
    hasChanged ||= reason === undefined;
  }
  return hasChanged;
}

/** A change that cannot be planned is reported as one that fails. */
function toRefusal(fix: Fix, error: unknown): Change {
  const title = fix === 'cors' ? 'The CORS rules stay as they are' : 'The bucket policy stays as it is';
  return { fix, title, text: '', apply: () => Promise.reject(error) };
}
