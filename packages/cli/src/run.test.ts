import { spawnSync } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const full = '/dev/full';

test.skipIf(!existsSync(full))('says why it ends where standard output is a file on a full disk', () => {
  const stdio = ['ignore', openSync(full, 'w'), 'pipe'] as const;
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [main, ...args], { stdio: [...stdio], encoding: 'utf8' });
  const message = 'standard output: no space is left on this disk.';
  expect(run('--help')).toMatchObject({ status: 1, stderr: `Error: ${message}\n` });
  const { status, stderr } = run('--help', '--json');
  expect([status, JSON.parse(stderr)]).toEqual([1, { error: { message, code: 'ENOSPC' } }]);
});
