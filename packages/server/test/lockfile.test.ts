import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Locked {
  dev?: boolean;
  optional?: boolean;
  license?: string;
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
  // react is an optional peer of @cadiz/client itself, and semver is what sharp needs, which is optional. They have no dependencies.
  expect(find(({ devOptional }) => devOptional)).toEqual(['node_modules/react', 'node_modules/semver']);
  const tools = Object.keys(packages['']?.devDependencies ?? {});
  expect(tools).toContain('vitest');
  expect(tools.filter((name) => packages[`node_modules/${name}`]?.dev !== true)).toEqual(['react']);
});

test('the lockfile names no registry, so that each installation uses its own', () => {
  const named = find(({ resolved, link }) => resolved !== undefined && !link);
  expect(find(({ link }) => link)).toContain('node_modules/@cadiz/server');
  expect(named).toEqual([]);
});

const permissive = ['0BSD', 'Apache-2.0', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT', 'MIT-0'];

test('what npm ci --omit=dev installs is under permissive licences, but for libvips, which is optional', () => {
  const others = Object.entries(packages).filter(
    ([place, { dev, link, license = '' }]) =>
      place.startsWith('node_modules/') && !dev && !link && !permissive.includes(license),
  );
  // sharp reads images with libvips, LGPL-3.0-or-later. It is linked dynamically, so anyone may replace it, and Cadiz runs
  // without it: `npm ci --omit=optional` leaves it out. On Windows and in WebAssembly, it is in the same package as sharp's part.
  const withLibvips = /^node_modules\/@img\/sharp-(libvips-[\w-]+|win32-\w+|wasm32)$/;
  expect(others.length).toBeGreaterThan(0);
  expect(others.filter(([place]) => !withLibvips.test(place))).toEqual([]);
  for (const [place, { license, optional }] of others) {
    expect({ place, license, optional }).toMatchObject({
      license: expect.stringContaining('LGPL-3.0-or-later'),
      optional: true,
    });
  }
});
