import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

interface Manifest {
  name: string;
  version: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const { version }: Manifest = JSON.parse(read('package.json'));
const manifests: Manifest[] = readdirSync(new URL('packages/', root)).map((name) =>
  JSON.parse(read(`packages/${name}/package.json`)),
);

test('all packages have one version, and depend on each other by exactly that (docs/upgrading.md)', () => {
  expect(manifests.length).toBeGreaterThan(8);
  expect(manifests.filter((one) => one.version !== version).map(({ name }) => name)).toEqual([]);
  const others = manifests.flatMap(({ name, dependencies, optionalDependencies }) =>
    Object.entries({ ...dependencies, ...optionalDependencies })
      .filter(([needed, range]) => manifests.some((one) => one.name === needed) && range !== version)
      .map(([needed, range]) => `${name} needs ${needed} ${range}`),
  );
  expect(others).toEqual([]);
});

test('the changelog has a heading for that version', () => {
  expect(read('CHANGELOG.md')).toMatch(new RegExp(`^##+ \\[?v?${version.replaceAll('.', '\\.')}\\b`, 'm'));
});
