// @ts-check
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';

/**
 * Puts processes on the first core, and this one, the generator of load, on the second.
 * @param {number[]} pids their children will be there, too
 * @returns {(() => void) | undefined} a function to let them run everywhere again; undefined if this machine cannot
 */
export function putOnOneCore(pids) {
  const all = `0-${cpus().length - 1}`;
  /** @type {(cores: string, which: number[]) => void} */
  const put = (cores, which) => {
    for (const pid of which) execFileSync('taskset', ['-a', '-c', '-p', cores, `${pid}`], { stdio: 'ignore' });
  };
  if (cpus().length < 2) return undefined;
  try {
    put('1', [process.pid]);
  } catch {
    return undefined;
  }
  const release = () => put(all, [process.pid, ...pids]);
  put('0', pids);
  return release;
}
