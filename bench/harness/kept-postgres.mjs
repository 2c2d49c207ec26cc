// @ts-check
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atEnd } from './cleanup.mjs';
import { temporaryFolder } from './temporary-folder.mjs';

const postgresScript = fileURLToPath(new URL('../../scripts/ci/postgres.sh', import.meta.url));
const programs = process.env.PG_BIN ?? '/usr/lib/postgresql/15/bin';

/** The settings of a dedicated server for a library of this size; nothing is flushed while it is filled. */
const common = '-c shared_buffers=1GB -c effective_cache_size=8GB -c max_wal_size=8GB -c maintenance_work_mem=768MB';
const filling = '-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off';
const serving = '-c fsync=on -c synchronous_commit=on -c full_page_writes=on';

/**
 * @typedef {object} KeptPostgres
 * @property {string} url
 * @property {string} folder
 * @property {boolean} isFilled whether an earlier run has filled it
 * @property {() => void} serve starts it again as in production
 * @property {() => void} fill starts it again to be filled
 */

/**
 * A PostgreSQL whose folder is kept if BENCH_KEEP names it, so that the next run need not fill it again; otherwise, one that
 * is removed at the end.
 * @returns {Promise<KeptPostgres>}
 */
export async function openKeptPostgres() {
  const kept = process.env.BENCH_KEEP;
  const folder = join(kept ?? (await temporaryFolder()), 'postgres');
  if (!kept && process.getuid?.() === 0) execFileSync('chmod', ['711', join(folder, '..')]);
  const data = join(folder, 'data');
  const isFilled = existsSync(join(folder, '..', 'library.json'));
  const env = { ...process.env, PG_DIR: folder, PG_BIN: programs };
  if (!isFilled) {
    mkdirSync(join(folder, '..'), { recursive: true });
    execFileSync('bash', [postgresScript, 'start'], { env, stdio: 'ignore' });
  }
  const port = readFileSync(join(folder, 'port'), 'utf8').trim();
  /** @param {string[]} args */
  const control = (args) => {
    const { uid, gid } = statSync(data);
    const owner = process.getuid?.() === 0 ? { uid, gid } : {};
    execFileSync(join(programs, 'pg_ctl'), ['-D', data, '-w', '-t', '600', '-s', ...args], {
      cwd: folder,
      stdio: 'ignore',
      ...owner,
    });
  };
  const address = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=`;
  const restart = (/** @type {string} */ more) =>
    control(['-l', join(data, 'server.log'), '-o', `${address} ${common} ${more}`, 'restart']);
  atEnd(() => control(['-m', 'fast', 'stop']));
  restart(isFilled ? serving : filling);
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    folder: join(folder, '..'),
    isFilled,
    serve: () => restart(serving),
    fill: () => restart(filling),
  };
}
