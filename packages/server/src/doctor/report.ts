import type { Result } from '../checkup/examine.ts';
import type { Change } from './change.ts';

/** Receives the progress of the doctor. */
export interface Report {
  start(subject: string, prefix: string): void;
  result(result: Result): void;
  /** the keys that could not be removed */
  left(keys: readonly string[]): void;
  /** after the changes, all checks run again */
  again(): void;
  change(change: Change): void;
  changed(change: Change, reason?: string): void;
  end(results: readonly Result[]): void;
}

const codes = { ok: 32, warning: 33, failed: 31, skipped: 90, bold: 1, faint: 90 } as const;
const width = 100;
const margin = ' '.repeat(11);

/** For people: one line for each check, and more if there is something to do. */
export function createTextReport(write: (text: string) => void, hasColours: boolean): Report {
  const paint = (code: keyof typeof codes, text: string) =>
    hasColours ? `\u001b[${codes[code]}m${text}\u001b[0m` : text;
  const line = (text = '') => write(`${text}\n`);
  let section = '';

  return {
    start(subject, prefix) {
      line(`Checking ${subject}.`);
      line(`Everything created on the way is under ${prefix} and is removed again.`);
    },
    result(result) {
      if (result.section !== section) line(`\n${paint('bold', result.section)}`);
      section = result.section;
      const verdict = paint(result.verdict, result.verdict.padEnd(9));
      if (result.verdict === 'ok') {
        line(`  ${verdict}${result.title}  ${paint('faint', result.found)}`);
        return;
      }
      line(`  ${verdict}${result.title}`);
      for (const text of wrap(result.found)) line(margin + text);
      if (result.mend === undefined) return;
      for (const [index, text] of wrap(result.mend).entries()) line(`${margin}${index === 0 ? '→' : ' '} ${text}`);
    },
    left(keys) {
      line(`\n  ${paint('warning', 'These could not be removed; remove them by hand:')}`);
      for (const key of keys) line(`    ${key}`);
    },
    again() {
      section = '';
      line('\nChecking again after the changes.');
    },
    change(change) {
      line(`\n${paint('bold', change.title)}`);
      line(change.text.replaceAll(/^/gm, '  '));
    },
    changed(_change, reason) {
      if (reason === undefined) line(`  ${paint('ok', 'done')}`);
      else for (const text of wrap(reason)) line(`  ${paint('failed', text)}`);
    },
    end(results) {
      const count = (verdict: Result['verdict']) => results.filter((result) => result.verdict === verdict).length;
      const skipped = count('skipped') === 0 ? '' : `, ${count('skipped')} skipped`;
      line(
        `\n${count('ok')} ok, ${count('warning')} ${count('warning') === 1 ? 'warning' : 'warnings'}, ${count('failed')} failed${skipped}.`,
      );
    },
  };
}

/** For machines: one document, at the end. */
export function createJsonReport(write: (text: string) => void): Report {
  const changes: { fix: string; title: string; text: string; applied: boolean; reason?: string }[] = [];
  let subject = '';
  let before: Result[] | undefined;
  let seen: Result[] = [];
  let leftOver: readonly string[] = [];
  return {
    start(named) {
      subject = named;
    },
    result: (result) => void seen.push(result),
    left(keys) {
      leftOver = [...leftOver, ...keys];
    },
    again() {
      before = seen;
      seen = [];
    },
    change: () => undefined,
    changed({ fix, title, text }, reason) {
      changes.push({ fix, title, text, applied: reason === undefined, ...(reason !== undefined && { reason }) });
    },
    end(results) {
      const ok = !results.some(({ verdict }) => verdict === 'failed');
      write(
        `${JSON.stringify({ ok, subject, checks: results, ...(before && { before }), changes, leftOver }, null, 2)}\n`,
      );
    },
  };
}

function wrap(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && last.length + word.length >= width - margin.length) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}
