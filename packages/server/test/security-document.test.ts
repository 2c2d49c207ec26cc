import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { applyMutant, mutants } from '../../../scripts/mutation/rows.mjs';
import { findUnproven, isThere, readRows, rowsOf } from '../../../scripts/security-document.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const rows = readRows();
const numbers = rows.map(({ number }) => number);

/** Every test file of the project, with the rows that its tests claim to prove. */
const namedRows = new Map(
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => /^(?:packages|e2e)\//.test(file) && !file.includes('node_modules'))
    .map((file) => [file, new Set(rowsOf(readFileSync(join(root, file), 'utf8')))] as const),
);

describe('docs/security.md', () => {
  test('has every row of the checklist, once', () => {
    expect(numbers).toEqual(Array.from({ length: 53 }, (_, n) => n + 1));
  });

  test.each(rows)('$number: $what', ({ number, tests }) => {
    expect(tests.length).toBeGreaterThan(0);
    for (const { file, needs } of tests) {
      expect([...(namedRows.get(file) ?? [])], `${file} has no test named "checklist ${number}"`).toContain(number);
      if (needs !== undefined) expect(isThere(needs)).toEqual(expect.any(Boolean));
    }
  });

  test('names every test that claims to prove a row', () => {
    const named = new Set(rows.flatMap(({ number, tests }) => tests.map(({ file }) => `${number} ${file}`)));
    const missing = [...namedRows].flatMap(([file, of]) =>
      [...of].map((number) => `${number} ${file}`).filter((proof) => !named.has(proof)),
    );
    expect(missing).toEqual([]);
  });
});

describe('the mutants that prove the tests of a row (npm run mutate -- rows)', () => {
  test('exist for every row and for nothing else', () => {
    expect(Object.keys(mutants).map(Number)).toEqual(numbers);
    for (const [number, ofRow] of Object.entries(mutants)) expect([number, ofRow.length]).not.toEqual([number, 0]);
  });

  const all = Object.entries(mutants).flatMap(([number, ofRow]) => ofRow.map((mutant) => ({ number, mutant })));
  test.each(all)('$number: $mutant.what', ({ mutant }) => {
    expect(applyMutant(mutant)).not.toBe(readFileSync(join(root, mutant.file), 'utf8'));
  });
});

describe('a skipped test of a row', () => {
  const file = 'packages/server/src/access/access-changes.test.ts';
  const proving = (rows: string) => `two replicas > one (${'checklist'} ${rows})`;
  const skipped = [
    { name: proving('7, 28'), file },
    { name: 'of no row', file },
  ];

  test('is named at the end if the machine lacks what it needs', () => {
    expect(findUnproven(skipped, () => false)).toEqual({
      leftOut: ['tests of the rows 7, 28 of docs/security.md, because they need PostgreSQL.'],
      wrong: [],
    });
  });

  test('fails the run if the machine has what it needs', () => {
    const { leftOut, wrong } = findUnproven(skipped, () => true);
    expect([leftOut, wrong.length]).toEqual([[], 2]);
    expect(wrong[1]).toContain('proves row 28 of docs/security.md and was skipped, but PostgreSQL is there');
  });

  test('fails the run if the page does not say what it needs', () => {
    const { wrong } = findUnproven([{ name: proving('6'), file }], () => false);
    expect(wrong).toEqual([expect.stringContaining('the page does not say what it needs')]);
  });
});
