import { exitCodes, Failure, toTold } from '../failure.ts';
import { count, toDuration, toSize } from '../format.ts';
import type { Output } from '../output.ts';
import { printable } from '../output.ts';
import type { LeftOut } from './local-tree.ts';

/** The outcome of each file. */
export interface Report {
  /** What was transferred. */
  done: { path: string; id: string; bytes: number }[];
  /** How many were the same already. */
  unchanged: number;
  /** What was left out on purpose. */
  skipped: { path: string; why: string }[];
  failed: { path: string; error: string; code?: string; requestId?: string }[];
}

export const newReport = (): Report => ({ done: [], unchanged: 0, skipped: [], failed: [] });

/** What the service answers to a key that has been revoked or has expired: to all that follows, too. */
const refusedCode = 'invalid_api_key';

/** What it answers about each file of a folder that was deleted meanwhile. */
export const goneCode = 'file_not_found';

/**
 * Notes what has failed, and says so; that the credentials are refused, only once, and nothing of files that are gone
 * (`sayGone`).
 *
 * @param say shows it, where bars may be drawn
 */
export function noteFailure(report: Report, path: string, error: unknown, say: (message: string) => void): void {
  const isKnown = report.failed.some(({ code }) => code === refusedCode);
  const message = addFailure(report, path, error);
  const code = report.failed.at(-1)?.code;
  if (code !== goneCode && !(isKnown && code === refusedCode)) say(message);
}

/** Says which files were deleted before their turn: with one line, since a whole folder may have been. */
export function sayGone(output: Output, { failed }: Report): void {
  const gone = failed.filter(({ code }) => code === goneCode);
  const [first] = gone;
  if (!first) return;
  const others = gone.length > 1 ? ` and ${count(gone.length - 1, 'more file')}` : '';
  sayFailure(output, `${first.path}${others}`, first.error);
}

/** Notes what has failed. @returns the error as a sentence for people */
export function addFailure(report: Report, path: string, error: unknown): string {
  const { message, code, requestId } = toTold(error);
  report.failed.push({ path, error: message, ...(code && { code }), ...(requestId && { requestId }) });
  return message;
}

/** Says how it went. */
export function sayReport(output: Output, verb: string, { done, unchanged, skipped }: Report, began: number): void {
  const bytes = done.reduce((sum, one) => sum + one.bytes, 0);
  const parts = [
    `${verb} ${count(done.length, 'file')}, ${toSize(bytes)}, in ${toDuration((performance.now() - began) / 1000)}`,
  ];
  if (unchanged > 0) parts.push(`${unchanged} unchanged`);
  if (skipped.length > 0) parts.push(`${skipped.length} left out`);
  output.say(`${parts.join('; ')}.`);
}

/** Says what is left out, and notes what of it should not have been. */
export function noteLeftOut(output: Output, report: Report, leftOut: readonly LeftOut[]): void {
  for (const { path, why, isFailure } of leftOut) {
    if (isFailure) report.failed.push({ path, error: why });
    else report.skipped.push({ path, why });
    if (!isFailure) output.warn(`${printable(path)} is left out: ${why}`);
  }
}

/** Says what has failed before anything is transferred. */
export function sayFailed(output: Output, { failed }: Report): void {
  for (const { path, error } of failed) sayFailure(output, path, error);
}

/**
 * @param planned how many files a dry run would transfer
 * @throws Failure with 5 if anything failed or would fail, or with 4 if the credentials were refused
 */
export function failIfAny({ done, failed, unchanged, skipped }: Report, planned?: number): void {
  if (failed.length === 0) return;
  const total = (planned ?? done.length) + failed.length + unchanged + skipped.length;
  const share = `${failed.length} of ${count(total, 'file')}`;
  const isRefused = failed.some(({ code }) => code === refusedCode);
  throw new Failure(
    isRefused ? exitCodes.signIn : exitCodes.someFailed,
    planned === undefined ? `${share} failed. Run the same command again to retry them.` : `${share} would fail.`,
  );
}

/** Prints one failure; the command goes on with the others, and ends with 5. */
export function sayFailure(output: Output, path: string, message: string): void {
  output.fail({ exitCode: exitCodes.someFailed, message: `${printable(path)}: ${message}` });
}
