// @ts-check
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { atEnd } from './cleanup.mjs';
import { findLocalPostgres } from './local-postgres.mjs';
import { temporaryFolder } from './temporary-folder.mjs';

const postgresScript = fileURLToPath(new URL('../../scripts/ci/postgres.sh', import.meta.url));
const postgresPrograms = process.env.PG_BIN ?? '/usr/lib/postgresql/15/bin';

/**
 * @typedef {object} BenchDatabase
 * @property {string} name
 * @property {string} dataDir the data folder for a service on it
 * @property {string} [url] DATABASE_URL; the embedded database without
 * @property {import('./local-postgres.mjs').LocalPostgres} [local] the database server, if it runs on this machine
 */

/**
 * Runs the same on the embedded database and on PostgreSQL: the server in BENCH_DATABASE_URL, otherwise a throwaway one
 * that flushes to disk as in production; if there is neither, it says so.
 * @param {(database: BenchDatabase, another: () => Promise<BenchDatabase>) => Promise<void>} run `another` makes one more on the same server
 */
export async function onEachDatabase(run) {
  const only = process.env.BENCH_DATABASE;
  if (only !== 'postgres') await run(await createEmbedded(), createEmbedded);
  if (only === 'embedded') return;
  const server = process.env.BENCH_DATABASE_URL || (await startPostgres());
  if (server) await run(await createDatabase(server), () => createDatabase(server));
  else
    console.log(`\nPostgreSQL is left out: BENCH_DATABASE_URL is not set, and there is none in ${postgresPrograms}.`);
}

/** @returns {Promise<BenchDatabase>} */
async function createEmbedded() {
  return { name: 'embedded', dataDir: await temporaryFolder() };
}

/** @returns {Promise<string | undefined>} */
async function startPostgres() {
  if (!existsSync(join(postgresPrograms, 'initdb'))) return undefined;
  const folder = join(await temporaryFolder(), 'postgres');
  // If this is root, the server runs as another user, who must be able to reach the folder.
  if (process.getuid?.() === 0) execFileSync('chmod', ['711', join(folder, '..')]);
  const env = { ...process.env, PG_DIR: folder, PG_BIN: postgresPrograms };
  atEnd(() => execFileSync('bash', [postgresScript, 'stop'], { env, stdio: 'ignore' }));
  const url =
    execFileSync('bash', [postgresScript, 'start'], { env, encoding: 'utf8' }).trim().split('\n').at(-1) ?? '';
  flushToDisk(folder, new URL(url).port);
  return url;
}

/**
 * The script starts PostgreSQL for tests, which may lose what they write. Here, a record must be flushed to count.
 * @param {string} folder
 * @param {string} port
 */
function flushToDisk(folder, port) {
  const data = join(folder, 'data');
  const { uid, gid } = statSync(data);
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=on -c synchronous_commit=on -c full_page_writes=on`;
  const args = ['-D', data, '-l', join(data, 'server.log'), '-w', '-s', '-o', options, 'restart'];
  const owner = process.getuid?.() === 0 ? { uid, gid } : {};
  execFileSync(join(postgresPrograms, 'pg_ctl'), args, { cwd: folder, stdio: 'ignore', ...owner });
}

/**
 * @param {string} server
 * @returns {Promise<BenchDatabase>}
 */
async function createDatabase(server) {
  const name = `cadiz_bench_${randomBytes(6).toString('hex')}`;
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(`create database ${name}`);
    const { rows } = await client.query(
      `select current_setting('server_version') as version, current_setting('fsync') as fsync`,
    );
    atEnd(() => dropDatabase(server, name));
    const url = new URL(server);
    url.pathname = `/${name}`;
    const { version, fsync } = rows[0];
    const local = await findLocalPostgres(client);
    return {
      name: `PostgreSQL ${version.split(' ')[0]}, fsync ${fsync}`,
      dataDir: await temporaryFolder(),
      url: url.href,
      ...(local ? { local } : {}),
    };
  } finally {
    await client.end();
  }
}

/**
 * @param {string} server
 * @param {string} name
 */
async function dropDatabase(server, name) {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  await client.query(`drop database if exists ${name} with (force)`);
  await client.end();
}
