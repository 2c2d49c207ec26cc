import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const project = fileURLToPath(new URL('../../..', import.meta.url));
const packages = join(project, 'packages');

const staticImport = /^(?:import|export) [^;]*?from '(\.[^']+)';/gms;
const lazyImport = /\bimport\('(\.[^']+)'\)/g;

/** Which file of a folder imports which, including types. @param lazy whether what a file loads later counts as well */
function readImports(folder: string, { lazy = false } = {}): Map<string, string[]> {
  const source = join(project, folder);
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:tsx?|m?js)$/.test(file) && !/\.test\.tsx?$|(?:^|\/)(?:node_modules|dist)\//.test(file))
    .map((file) => join(source, file));
  return new Map(
    files.map((file) => {
      const text = readFileSync(file, 'utf8');
      const found = [...text.matchAll(staticImport), ...(lazy ? text.matchAll(lazyImport) : [])];
      return [
        relative(source, file),
        found.map(([, target]) => relative(source, resolve(dirname(file), target ?? ''))),
      ];
    }),
  );
}

/** The first cycle found, as the files on it. */
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

/** All the code: a new package is among it by itself. */
const folders = [
  ...readdirSync(packages).flatMap((name) => ['src', 'test'].map((part) => `packages/${name}/${part}`)),
  ...['bench', 'deploy', 'e2e', 'examples', 'scripts'],
].filter((folder) => existsSync(join(project, folder)));

test.each(folders)('%s has no cycle of imports, whether of types or of what is loaded later', (folder) => {
  expect(findCycle(readImports(folder, { lazy: true }))).toBeUndefined();
});

test('the folders have the imports that the code has', () => {
  expect(folders).toContain('packages/console/src');
  const arrows = folders.flatMap((folder) => [...readImports(folder, { lazy: true }).values()].flat());
  expect(arrows.length).toBeGreaterThan(4000);
});

test('the process that asks for images loads neither sharp nor what uses it, not even for types', () => {
  const imports = readImports('packages/images/src');
  const reached = new Set(['index.ts']);
  for (const file of reached) for (const target of imports.get(file) ?? []) reached.add(target);
  expect([...reached]).toContain('child.ts');
  const child = ['look.ts', 'open-image.ts', 'render.ts', 'transfer.ts', 'worker.ts'];
  expect([...imports.keys()].filter((file) => !reached.has(file)).sort()).toEqual(['exif.ts', 'location.ts', ...child]);
});

test('the command loads the code of a command when it runs, and not before', () => {
  const imports = readImports('packages/cli/src');
  const reached = new Set(['run.ts']);
  for (const file of reached) for (const target of imports.get(file) ?? []) reached.add(target);
  expect([...reached]).toContain('table.ts');
  expect([...reached].filter((file) => file.startsWith('commands/'))).toEqual([]);
  expect([...imports.keys()].filter((file) => file.startsWith('commands/')).length).toBeGreaterThan(30);
});

/**
 * The rooms of packages/server/src, from the bottom up. Rooms on one floor may import each other, unless a test below says
 * otherwise.
 */
const floors: string[][] = [
  ['settings', 'telemetry', 'mail', 'rate-limits', 'db', 'store'],
  ['content', 'events', 'access', 'work', 'webhooks', 'serving', 'images', 'views', 'checkup'],
  ['limits', 'tickets'],
  ['tree'],
  ['features', 'identity'],
  ['http', 'jobs'],
  ['start', 'users', 'queue', 'doctor', 'admin'],
];
/** Files outside the rooms: those that everything may import, and the wiring at the top. */
const everywhere = ['bounded-cache.ts', 'clock-tolerance.ts', 'parse-json.ts', 'problem.ts', 'deps.ts'];
const wiring = ['operation.ts', 'operations.ts', 'open-caches.ts', 'service.ts', 'index.ts', 'main.ts'];

describe('imports in the service point down', () => {
  const imports = readImports('packages/server/src');
  const room = (file: string) => file.split('/')[0] ?? '';
  const floorOf = (file: string) => floors.findIndex((rooms) => rooms.includes(room(file)));
  const arrows = [...imports].flatMap(([file, targets]) => targets.map((target) => ({ file, target })));
  const show = ({ file, target }: { file: string; target: string }) => `${file} -> ${target}`;
  const importersOf = (pattern: RegExp) => arrows.filter(({ target }) => pattern.test(target)).map(({ file }) => file);

  test('every file is in a room', () => {
    const outside = [...imports.keys()].filter((file) => floorOf(file) === -1);
    expect(outside.sort()).toEqual([...everywhere, ...wiring].sort());
  });

  test('no room imports from one above it, not even types', () => {
    const up = arrows.filter(
      ({ file, target }) => floorOf(file) !== -1 && floorOf(target) !== -1 && floorOf(target) > floorOf(file),
    );
    expect(up.map(show)).toEqual([]);
  });

  test('no feature imports from another, not even types', () => {
    const feature = (file: string) => /^features\/([^/]+)\//.exec(file)?.[1];
    const across = arrows.filter(({ file, target }) => {
      const [from, to] = [feature(file), feature(target)];
      return from !== undefined && to !== undefined && from !== to;
    });
    expect(across.map(show)).toEqual([]);
    expect(arrows.filter(({ file }) => feature(file)).length).toBeGreaterThan(100);
  });

  test('no feature knows identity, and identity knows no feature', () => {
    const between = arrows.filter(({ file, target }) => {
      const rooms = [room(file), room(target)];
      return rooms.includes('features') && rooms.includes('identity');
    });
    expect(between.map(show)).toEqual([]);
    expect(importersOf(/^identity\//).length).toBeGreaterThan(100);
  });

  test('the rooms of identity form no cycle, and the files that they share know none of them', () => {
    const inner = (file: string) => /^identity\/([^/]+)\//.exec(file)?.[1];
    const own = arrows.filter(({ file, target }) => room(file) === 'identity' && room(target) === 'identity');
    const shared = own.filter(({ file, target }) => inner(file) === undefined && inner(target) !== undefined);
    expect(shared.map(show)).toEqual([]);
    const rooms = new Map<string, string[]>();
    for (const { file, target } of own) {
      const [from, to] = [inner(file), inner(target)];
      if (from !== undefined && to !== undefined && from !== to) rooms.set(from, [...(rooms.get(from) ?? []), to]);
    }
    expect([...rooms.keys()]).toContain('sign-in');
    expect(findCycle(rooms)).toBeUndefined();
  });

  test('identity knows no HTTP: neither headers nor cookies', () => {
    const source = join(packages, 'server/src');
    const named = [...imports.keys()].filter(
      (file) =>
        room(file) === 'identity' &&
        /\bHeaders\b|\bResponse\b|Set-Cookie/.test(readFileSync(join(source, file), 'utf8')),
    );
    expect(named).toEqual([]);
  });

  test('http and jobs do not import from each other', () => {
    const between = arrows.filter(
      ({ file, target }) => room(file) !== room(target) && floorOf(file) === 5 && floorOf(target) === 5,
    );
    expect(between.map(show)).toEqual([]);
  });

  test('the doctor and the service share the checkup, which knows settings and stores only', () => {
    expect(importersOf(/^doctor\//).filter((file) => !file.startsWith('doctor/'))).toEqual([]);
    const byService = importersOf(/^checkup\//).filter((file) => !/^(?:checkup|doctor)\//.test(file));
    expect([...new Set(byService)].sort()).toEqual([
      'features/system/own-findings.ts',
      'features/system/run-doctor.ts',
    ]);
    const known = arrows.filter(
      ({ file, target }) =>
        /^(?:checkup|doctor)\//.test(file) &&
        room(target) !== 'checkup' &&
        floorOf(target) > 0 &&
        (floorOf(target) < 6 || room(file) === 'checkup'),
    );
    expect(known.map(show)).toEqual([]);
  });

  test('the files at the top are imported only there', () => {
    expect(importersOf(/^service\.ts$/).sort()).toEqual(['index.ts', 'start/program.ts', 'start/welcome.ts']);
    expect(importersOf(/^operations\.ts$/)).toEqual(['http/app.ts', 'http/dispatch.ts']);
    expect(importersOf(/^open-caches\.ts$/)).toEqual(['service.ts']);
  });

  test('transactions are run by db.transaction, which retries them', () => {
    const source = join(packages, 'server/src');
    const begins = [...imports.keys()].filter((file) =>
      /\.transaction\(\)|['"`]begin\b/.test(readFileSync(join(source, file), 'utf8')),
    );
    // Those of backups last long, and would begin again with all that they have written.
    expect(begins.filter((file) => !['db/read-tables.ts', 'db/write-tables.ts'].includes(file))).toEqual([
      'db/listing-lane.ts',
      'db/migrate.ts',
      'db/open.ts',
    ]);
  });

  test('store keys are made only for an upload that the project accepts', () => {
    const makers = [...imports.keys()].filter((file) =>
      readFileSync(join(packages, 'server/src', file), 'utf8').includes('makeStoreKey'),
    );
    expect(makers.sort()).toEqual(['limits/issue-store-key.ts', 'store/store-key.ts']);
  });
});

test('what an operation throws is in its entry of the contract, and in no list kept by hand', () => {
  const source = join(packages, 'server/src');
  const handlers = readdirSync(join(source, 'http/routes')).filter((name) => !name.endsWith('.test.ts'));
  const files = ['operations.ts', ...handlers.map((name) => `http/routes/${name}`)];
  const operations = files.flatMap((file) =>
    [...readFileSync(join(source, file), 'utf8').matchAll(/^import \{([^}]+)\} from '(\.[^']+)';/gm)].flatMap(
      ([, names = '', path = '']) => {
        const target = join(dirname(file), path);
        if (!/^(?:features|identity)\//.test(target)) return [];
        return names.split(',').map((name) => ({ target, name: name.trim().replace(/ as .*/, '') }));
      },
    ),
  );
  expect(operations.length).toBeGreaterThan(100);
  const listing = operations.filter(({ target, name }) => {
    const text = readFileSync(join(source, target), 'utf8');
    const before = text.split(new RegExp(`^export (?:async )?function\\*? ${name}\\b`, 'm'))[0] ?? '';
    return before.trimEnd().endsWith('*/') && /@throws Problem/.test(before.slice(before.lastIndexOf('/**')));
  });
  expect(listing).toEqual([]);
});

describe('the rooms of the store', () => {
  const imports = readImports('packages/store/src');
  const rooms = ['process', 'server', 'operations', 'protocol', 'disk'];
  const roomOf = (file: string) => rooms.indexOf(file.split('/')[0] ?? '');

  test('contain every file except its entry', () => {
    expect([...imports.keys()].filter((file) => roomOf(file) === -1)).toEqual(['index.ts']);
    expect(new Set([...imports.keys()].map(roomOf)).size).toBe(rooms.length + 1);
  });

  test('import from left to right', () => {
    const arrows = [...imports].flatMap(([file, targets]) => targets.map((target) => [file, target] as const));
    const backwards = arrows.filter(([file, target]) => roomOf(target) < roomOf(file));
    expect(arrows.length).toBeGreaterThan(300);
    expect(backwards).toEqual([]);
  });
});

test('the test would find a cycle', () => {
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
