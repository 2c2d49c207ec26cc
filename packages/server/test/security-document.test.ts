import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const document = fileURLToPath(new URL('../../../docs/security.md', import.meta.url));

/** The rows of the tables that begin with a number: what holds, and the files with its tests. */
const rows = [...readFileSync(document, 'utf8').matchAll(/^\| (\d+) \| ([^|]+) \|.*\| ([^|]+) \|$/gm)].map(
  ([, number = '', what = '', tests = '']) => ({
    number: Number(number),
    what,
    files: [...tests.matchAll(/\]\(([^)]+)\)/g)].map(([, path = '']) => join(dirname(document), path)),
  }),
);

/** The rows that a test says it proves: `(checklist 7, 28)`, `(T18, checklist 17)`, `(checklist 45; T9)`. */
function namedRows(file: string): number[] {
  const names = readFileSync(file, 'utf8').matchAll(/checklist ((?:\d+(?:, )?)+)/g);
  return [...names].flatMap(([, numbers = '']) => numbers.split(', ').map(Number));
}

describe('docs/security.md', () => {
  test('has every row of the checklist, once', () => {
    expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 50 }, (_, n) => n + 1));
  });

  test.each(rows)('$number: $what', ({ number, files }) => {
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) expect(namedRows(file), file).toContain(number);
  });
});
