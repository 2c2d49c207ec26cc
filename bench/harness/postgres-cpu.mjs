// @ts-check
import { readdirSync, readFileSync } from 'node:fs';

/** What /proc counts in, on every Linux that Node runs on. */
const microsecondsPerTick = 10_000;

/**
 * The CPU time of a whole PostgreSQL server: of its processes, and of those that have ended.
 * @param {import('pg').Client} client
 * @returns {Promise<(() => number) | undefined>} microseconds so far; undefined if it does not run on this machine, under
 *   Linux
 */
export async function openPostgresCpu(client) {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  const backend = readProcess(rows[0].pid);
  if (backend?.name !== 'postgres') return undefined;
  const server = backend.parent;
  return () => {
    const own = readProcess(server);
    let ticks = (own?.ticks ?? 0) + (own?.ticksOfEnded ?? 0);
    for (const name of readdirSync('/proc')) {
      const one = /^\d+$/.test(name) ? readProcess(Number(name)) : undefined;
      if (one?.parent === server) ticks += one.ticks;
    }
    return ticks * microsecondsPerTick;
  };
}

/**
 * @param {number} pid
 * @returns {{ name: string, parent: number, ticks: number, ticksOfEnded: number } | undefined} undefined if there is none
 */
function readProcess(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'));
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
    return { name, parent: fields[1] ?? 0, ticks: user + system, ticksOfEnded: endedUser + endedSystem };
  } catch {
    return undefined;
  }
}
