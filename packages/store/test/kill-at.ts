import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { until } from './running-store.ts';
import type { StoreProcess } from './store-process.ts';

/** `killAt` needs strace. */
export const hasStrace = spawnSync('strace', ['--version']).error === undefined;

/** Kills the process at the moment in which it enters a system call for the nth time from now on. */
export async function killAt(
  { process: { pid } }: StoreProcess,
  call: string,
  time: number,
): Promise<{ ended: Promise<unknown> }> {
  const inject = `inject=${call}:signal=SIGKILL:when=${time}`;
  const strace = spawn('strace', ['-f', '-o', '/dev/null', '-e', `trace=${call}`, '-e', inject, '-p', String(pid)]);
  let said = '';
  strace.stderr.on('data', (chunk) => (said += chunk));
  const ended = once(strace, 'exit');
  await until(() => said.includes('attached'));
  return { ended };
}
