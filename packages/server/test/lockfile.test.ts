import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Locked {
  dev?: boolean;
  devOptional?: boolean;
  link?: boolean;
  resolved?: string;
  devDependencies?: Record<string, string>;
}

const read = (path: string) => JSON.parse(readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8'));
const packages: Record<string, Locked> = read('package-lock.json').packages;

/** The paths of the packages that `keep` selects. */
const find = (keep: (locked: Locked) => unknown) =>
  Object.entries(packages)
    .filter(([place, locked]) => place !== '' && keep(locked))
    .map(([place]) => place);

// If a package names a development tool as an optional peer, such as vitest, `npm ci --omit=dev` installs the tool with all its
// dependencies. Remove the peer from that package's entry in package-lock.json, and run `npm install`.
test('npm ci --omit=dev installs no development tool, not even as an optional peer', () => {
  // An optional peer of @cadiz/client itself; it has no dependencies.
  expect(find(({ devOptional }) => devOptional)).toEqual(['node_modules/react']);
  const tools = Object.keys(packages['']?.devDependencies ?? {});
  expect(tools).toContain('vitest');
  expect(tools.filter((name) => packages[`node_modules/${name}`]?.dev !== true)).toEqual(['react']);
});

test('the lockfile names no registry, so that each installation uses its own', () => {
  const named = find(({ resolved, link }) => resolved !== undefined && !link);
  expect(find(({ link }) => link)).toContain('node_modules/@cadiz/server');
  expect(named).toEqual([]);
});
