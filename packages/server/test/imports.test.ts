import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const packages = fileURLToPath(new URL('../..', import.meta.url));

const importsOfValues = /^(?:import|export) (?!type )[^;]*?from '(\.[^']+)';/gms;
const allImports = /^(?:import|export) [^;]*?from '(\.[^']+)';/gms;

/** Which file imports which; at run time unless told otherwise: `import type` leaves nothing behind, and does not count. */
function readImports(name: string, pattern = importsOfValues): Map<string, string[]> {
  const source = join(packages, name, 'src');
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => join(source, file));
  return new Map(
    files.map((file) => {
      const text = readFileSync(file, 'utf8');
      const statements = text.matchAll(pattern);
      const targets = [...statements].map(([, target]) => relative(source, resolve(dirname(file), target ?? '')));
      return [relative(source, file), targets];
    }),
  );
}

/** The first cycle that is found, as the files on it. */
function findCycle(imports: Map<string, string[]>): string[] | undefined {
  const done = new Set<string>();
  const visit = (file: string, path: string[]): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const target of imports.get(file) ?? []) {
      const cycle = visit(target, [...path, file]);
      if (cycle) return cycle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of imports.keys()) {
    const cycle = visit(file, []);
    if (cycle) return cycle;
  }
  return undefined;
}

describe.each(['contract', 'sigv4', 'store', 'server'])('packages/%s', (name) => {
  test('has no cycle of imports', () => {
    const imports = readImports(name);
    expect(imports.size).toBeGreaterThan(3);
    expect(findCycle(imports)).toBeUndefined();
  });
});

describe('the arrows of the service point down', () => {
  const imports = readImports('server');
  const importersOf = (pattern: RegExp) =>
    [...imports].filter(([, targets]) => targets.some((target) => pattern.test(target))).map(([file]) => file);

  test('transactions are run by db.transaction, which runs them again', () => {
    const source = join(packages, 'server/src');
    const begins = [...imports.keys()].filter((file) =>
      /\.transaction\(\)|['"`]begin\b/.test(readFileSync(join(source, file), 'utf8')),
    );
    expect(begins).toEqual(['db/listing-lane.ts', 'db/migrate.ts', 'db/open.ts']);
  });

  test('features know no HTTP', () => {
    expect(importersOf(/^http\//).filter((file) => !file.startsWith('http/'))).toEqual(['service.ts']);
  });

  test('the database and the store know no features', () => {
    const above = importersOf(/^features\//).filter((file) => /^(?:db|store)\//.test(file));
    expect(above).toEqual([]);
  });

  test('the doctor stands beside the service: neither knows the other', () => {
    expect(importersOf(/^doctor\//).filter((file) => !file.startsWith('doctor/'))).toEqual([]);
    expect(importersOf(/^(?:http|features|db)\//).filter((file) => file.startsWith('doctor/'))).toEqual([]);
  });

  test('only the entries import the wiring', () => {
    expect(importersOf(/^service\.ts$/).sort()).toEqual(['index.ts', 'program.ts']);
  });
});

describe('the rooms of the store', () => {
  const imports = readImports('store', allImports);
  const rooms = ['process', 'server', 'operations', 'protocol', 'disk'];
  const roomOf = (file: string) => rooms.indexOf(file.split('/')[0] ?? '');

  test('hold all of it but its entry', () => {
    expect([...imports.keys()].filter((file) => roomOf(file) === -1)).toEqual(['index.ts']);
    expect(new Set([...imports.keys()].map(roomOf)).size).toBe(rooms.length + 1);
  });

  test('have no cycle, types included', () => {
    expect(findCycle(imports)).toBeUndefined();
  });

  test('import from left to right, types included', () => {
    const arrows = [...imports].flatMap(([file, targets]) => targets.map((target) => [file, target] as const));
    const backwards = arrows.filter(([file, target]) => roomOf(target) < roomOf(file));
    expect(arrows.length).toBeGreaterThan(300);
    expect(backwards).toEqual([]);
  });
});

test('a cycle would be found', () => {
  expect(
    findCycle(
      new Map([
        ['a.ts', ['b.ts']],
        ['b.ts', ['c.ts']],
        ['c.ts', ['b.ts']],
      ]),
    ),
  ).toEqual(['b.ts', 'c.ts', 'b.ts']);
});
