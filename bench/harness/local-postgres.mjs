// @ts-check
import { readFileSync } from 'node:fs';
import { cpuOfPostgres, parentOf, processesOfPostgres } from './cpu-time.mjs';

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
  const server = parentOf(rows[0].pid);
  if (!server || readFileSync(`/proc/${rows[0].pid}/comm`, 'utf8') !== 'postgres\n') return undefined;
  return { cpuMicroseconds: () => cpuOfPostgres(server), processes: () => processesOfPostgres(server) };
}
