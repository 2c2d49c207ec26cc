// @ts-check
import { readdirSync, readFileSync } from 'node:fs';

/** What /proc counts in, on every Linux that Node runs on. */
const microsecondsPerTick = 10_000;

/**
 * A PostgreSQL server on this machine.
 * @typedef {object} LocalPostgres
 * @property {() => number} cpuMicroseconds what its processes have used so far, and those that have ended
 * @property {() => number[]} processes the server's own, and those for its connections
 */

/**
 * @param {import('pg').Client} client
 * @returns {Promise<LocalPostgres | undefined>} undefined if it does not run on this machine, under Linux
 */
export async function findLocalPostgres(client) {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  const backend = readProcess(rows[0].pid);
  if (backend?.name !== 'postgres') return undefined;
  const server = backend.parent;
  const children = () =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => ({ pid: Number(name), ...readProcess(Number(name)) }))
      .filter(({ parent }) => parent === server);
  return {
    cpuMicroseconds() {
      const own = readProcess(server);
      const ended = (own?.ticks ?? 0) + (own?.ticksOfEnded ?? 0);
      return children().reduce((sum, { ticks = 0 }) => sum + ticks, ended) * microsecondsPerTick;
    },
    processes: () => [server, ...children().map(({ pid }) => pid)],
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
