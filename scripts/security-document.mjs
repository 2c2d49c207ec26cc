// @ts-check
// docs/security.md as data: its rows, the tests that prove each, and what these tests need.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './prepare.mjs';

/**
 * @typedef {'PostgreSQL' | 'Chromium' | '10,500 open files'} Need something a test needs that not every machine has
 * @typedef {{ number: number, what: string, tests: { file: string, needs: string | undefined }[] }} Row
 *   `file` from the root of the project; `needs` what some of its tests of this row need
 */

/** The rows of the tables that start with a number, in page order. @returns {Row[]} */
export function readRows() {
  const page = readFileSync(join(root, 'docs/security.md'), 'utf8');
  return [...page.matchAll(/^\| (\d+) \| ([^|]+) \|.*\| ([^|]+) \|$/gm)].map(([, number, what = '', tests = '']) => ({
    number: Number(number),
    what,
    tests: [...tests.matchAll(/\]\(\.\.\/([^)]+)\)(?: \(needs ([^)]+)\))?/g)].map(([, file = '', needs]) => ({
      file,
      needs,
    })),
  }));
}

/** The rows that a test claims to prove in its name, as in `(checklist 7, 28)`. @param {string} name */
export function rowsOf(name) {
  return [...name.matchAll(/checklist (\d+(?:, \d+)*)/g)].flatMap(([, numbers = '']) =>
    numbers.split(', ').map(Number),
  );
}

/** @param {string} name of a test @param {number} row */
export const namesRow = (name, row) => rowsOf(name).includes(row);

/** @type {Record<Need, () => boolean>} */
const available = {
  PostgreSQL: () => Boolean(process.env.TEST_DATABASE_URL),
  Chromium: () => existsSync('/usr/bin/chromium'),
  '10,500 open files': () => {
    const limit = execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim();
    return limit === 'unlimited' || Number(limit) > 10_500;
  },
};

/** Whether this machine has something. @param {string} need @throws Error if it is unknown */
export function isThere(need) {
  const ask = available[/** @type {Need} */ (need)];
  if (!ask)
    throw new Error(
      `docs/security.md says that tests need ${need}, which is unknown. Known: ${Object.keys(available).join(', ')}.`,
    );
  return ask();
}

/**
 * What a run has not proven of the page, judging by the tests it skipped. A test of a row may only be skipped if this
 * machine lacks what the page says it needs.
 * @param {readonly { name: string, file: string }[]} skipped
 * @param {(need: string) => boolean} [has]
 * @returns {{ leftOut: string[], wrong: string[] }} sentences about tests that were skipped for a good reason, and without one
 */
export function findUnproven(skipped, has = isThere) {
  const rows = readRows();
  /** @type {Map<string, Set<number>>} */
  const lacking = new Map();
  /** @type {string[]} */
  const wrong = [];
  for (const { name, file } of skipped) {
    for (const number of rowsOf(name)) {
      const needs = rows.find((row) => row.number === number)?.tests.find((test) => test.file === file)?.needs;
      if (needs === undefined || has(needs)) {
        const why = needs === undefined ? 'the page does not say what it needs' : `${needs} is there`;
        wrong.push(`${file}: "${name}" proves row ${number} of docs/security.md and was skipped, but ${why}.`);
      } else {
        lacking.set(needs, (lacking.get(needs) ?? new Set()).add(number));
      }
    }
  }
  const leftOut = [...lacking].map(([need, numbers]) => {
    const list = [...numbers].sort((a, b) => a - b).join(', ');
    return `tests of the rows ${list} of docs/security.md, because they need ${need}.`;
  });
  return { leftOut, wrong };
}
