import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { folderOfTest, startStore } from '../../test/running-store.ts';
import { storeCommand } from '../../test/store-process.ts';

async function newStore(): Promise<string> {
  const folder = folderOfTest();
  const store = await startStore({ dataDir: folder });
  await store.close();
  return folder;
}

test.runIf(existsSync('/dev/full'))('a report that cannot be written ends with 1', async () => {
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  const args = [storeCommand, 'verify', '--data', await newStore()];
  const child = spawn(process.execPath, args, { stdio: ['ignore', full, 'pipe'] });
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    words += piece;
  });
  const [code] = await once(child, 'close');
  expect([code, words]).toEqual([1, expect.stringMatching(/^The report could not be written .* ENOSPC.*\n$/)]);
});

/** Problems that take more room than a pipe has: their report waits for a reader. */
function fillWithStrays(folder: string): void {
  const name = '\u0001'.repeat(200);
  for (let index = 0; index < 1000; index++) writeFileSync(join(folder, 'blobs', `${name}${index}`), '');
}

/** Whether a process of the group is left. */
function isRunning(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s ends the whole command with %i, and leaves no process behind', async (signal, expected) => {
  const folder = await newStore();
  fillWithStrays(folder);
  const child = spawn(process.execPath, [storeCommand, 'verify', '--data', folder], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { pid = 0 } = child;
  onTestFinished(() => endGroup(pid));
  const ended = once(child, 'exit');
  await once(child.stdout, 'readable');
  child.kill(signal);
  const [code] = await ended;
  expect(code).toBe(expected);
  await expect.poll(() => isRunning(pid)).toBe(false);
});

/** The process and what it has started, if anything of that is left. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
