import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { fingerprintSources } from '../../../scripts/prepare.mjs';

const clone = mkdtempSync(join(tmpdir(), 'cadiz-sources-'));
afterAll(() => rmSync(clone, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(clone, path)), { recursive: true });
  writeFileSync(join(clone, path), text);
}

for (const path of ['package-lock.json', 'tsconfig.json', 'tsconfig.base.json']) write(path, '{}');
for (const name of ['console', 'server'])
  for (const file of ['package.json', 'tsconfig.json', 'src/index.ts']) write(`packages/${name}/${file}`, '{}');

async function isBuiltAfter(change: () => void): Promise<boolean> {
  const before = await fingerprintSources(clone);
  change();
  return (await fingerprintSources(clone)) !== before;
}

test.each([
  'package-lock.json',
  'tsconfig.base.json',
  'packages/console/index.html',
  'packages/console/package.json',
  'packages/console/src/screens/shell.tsx',
  'packages/console/src/styles/tokens.css',
  'packages/console/vite.config.ts',
  'packages/server/scripts/make-site.mjs',
  'packages/server/site/docs/docs.js',
  'packages/server/site/docs/index.html',
  'packages/server/site/favicon.svg',
])('a start builds anew when %s has changed', async (path) => {
  write(path, '/* as it was */');
  expect(await isBuiltAfter(() => write(path, '/* as it is now */'))).toBe(true);
});

test('a start builds anew when a source has come or gone', async () => {
  const path = 'packages/console/src/once.ts';
  expect(await isBuiltAfter(() => write(path, 'export {};'))).toBe(true);
  expect(await isBuiltAfter(() => rmSync(join(clone, path)))).toBe(true);
});

test.each(['packages/console/README.md', 'packages/server/src/index.test.ts', 'packages/server/test/service.ts'])(
  'a start builds nothing when %s has changed, which no build reads',
  async (path) => expect(await isBuiltAfter(() => write(path, '/* as it is now */'))).toBe(false),
);
