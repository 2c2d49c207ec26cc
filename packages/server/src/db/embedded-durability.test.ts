import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach, expect, test, vi } from 'vitest';
import { series } from '../../../../scripts/series.mjs';
import { DatabaseFolderInUse, DatabaseNotDurable } from './database-errors.ts';
import { openEmbedded, templatePath } from './embedded.ts';
import { prepareFolder } from './embedded-folder.ts';
import { type Database, openDatabase } from './open.ts';

const fixture = (name: string) => new URL(`../../test/db/${name}`, import.meta.url);
const fixturePath = (name: string) => fileURLToPath(fixture(name));
const children = new Set<ChildProcess>();
const folders: string[] = [];

afterEach(async () => {
  await Promise.all([...children].map(killHard));
  for (const path of folders.splice(0)) await rm(path, { recursive: true, force: true });
});

function newFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'cadiz-test-embedded-'));
  folders.push(path);
  return path;
}

interface Running {
  child: ChildProcess;
  lines: string[];
  /** Resolves once this many lines have been printed. */
  printed(count: number): Promise<void>;
}

function start(command: string, args: string[]): Running {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(child);
  child.once('exit', () => children.delete(child));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  return {
    child,
    lines,
    async printed(count) {
      while (lines.length < count) {
        if (hasEnded(child)) throw new Error(`It ended after ${lines.length} lines`);
        await setTimeout(5);
      }
    },
  };
}

function startFixture(name: string, ...args: string[]): Running {
  return start(process.execPath, ['--liftoff-only', fixturePath(name), ...args]);
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function killHard(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  child.kill('SIGKILL');
  // `close` comes after the last output; `exit` may come before it.
  await once(child, 'close');
}

async function readIds({ pool }: Database): Promise<{ byIndex: number[]; bySequentialScan: number[] }> {
  const read = async (forbidden: string) => {
    const client = await pool.connect();
    try {
      await client.query('begin');
      for (const scan of forbidden.split(' ')) await client.query(`set local enable_${scan} = off`);
      const { rows } = await client.query<{ id: number }>('select id from records where id >= 0 order by id');
      await client.query('commit');
      return rows.map(({ id }) => id);
    } finally {
      client.release();
    }
  };
  return {
    byIndex: await read('seqscan bitmapscan sort'),
    bySequentialScan: await read('indexscan indexonlyscan bitmapscan'),
  };
}

const rounds = series({ full: 10, short: 2 });

test(`nothing acknowledged is lost by kill -9, ${rounds} times on one folder`, async () => {
  const dataDir = newFolder();
  const acknowledged: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const writer = startFixture('commit-until-killed.mjs', dataDir, String(round * 1_000_000));
    await writer.printed(20 + 5 * round);
    await killHard(writer.child);
    acknowledged.push(...writer.lines.map(Number));
  }
  const database = await openDatabase({ kind: 'embedded', dataDir });
  const { byIndex, bySequentialScan } = await readIds(database);
  await database.close();

  const present = new Set(byIndex);
  expect(acknowledged.length).toBeGreaterThanOrEqual(20 * rounds);
  expect(acknowledged.filter((id) => !present.has(id))).toEqual([]);
  expect(byIndex).toEqual(bySequentialScan);
  // In each round, at most one more commit may be there: the one whose acknowledgement was cut off.
  expect(byIndex.length - acknowledged.length).toBeLessThanOrEqual(rounds);
});

test('a folder can be open only once, until its process closes it or is killed', async () => {
  const dataDir = newFolder();
  const holder = startFixture('open-and-wait.mjs', dataDir);
  await holder.printed(1);
  expect(holder.lines).toEqual(['open']);
  const before = readTree(dataDir);

  const sentence = (pid: number | undefined) =>
    `The database folder ${dataDir} is in use by process ${pid}: stop it first, or choose another folder.`;
  const second = startFixture('open-and-wait.mjs', dataDir);
  await second.printed(1);
  expect(second.lines).toEqual([`DatabaseFolderInUse: ${sentence(holder.child.pid)}`]);
  await expect(openDatabase({ kind: 'embedded', dataDir })).rejects.toThrow(DatabaseFolderInUse);
  expect(readTree(dataDir)).toEqual(before);

  await killHard(holder.child);
  const database = await openDatabase({ kind: 'embedded', dataDir });
  await expect(openDatabase({ kind: 'embedded', dataDir })).rejects.toThrow(sentence(process.pid));
  await database.close();
  await (await openDatabase({ kind: 'embedded', dataDir })).close();
});

/** Every file with its bytes, to detect any change to the folder. */
function readTree(path: string): Record<string, string> {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const file = join(parentPath, name);
      return [file, readFileSync(file).toString('latin1')];
    }),
  );
}

test('running, waiting and later queries all fail when the database dies', async () => {
  const dataDir = newFolder();
  const embedded = await openEmbedded(dataDir, fixture('failing-disk-worker.mjs'));
  const pool = new pg.Pool({ max: 1, stream: () => embedded.connect(), user: 'postgres', database: 'postgres' });
  pool.on('error', () => undefined);
  await pool.query('create table records (id int primary key)');
  writeFileSync(join(dataDir, 'fail'), '');
  const queries = ['insert into records values (1)', 'select 1', 'select 2', 'select 3'];
  const answers = await Promise.allSettled(queries.map((sql) => pool.query(sql)));
  await embedded.failed;
  await expect(pool.connect()).rejects.toThrow('has stopped');
  expect(answers.map(({ status }) => status)).toEqual(queries.map(() => 'rejected'));
  await Promise.all([pool.end(), embedded.close(), embedded.close()]);
});

test('settings meant for another PostgreSQL do not affect the embedded one', async () => {
  vi.stubEnv('PGSSLMODE', 'require');
  vi.stubEnv('PGHOST', '/nowhere');
  vi.stubEnv('PGPORT', '1');
  const database = await openDatabase({ kind: 'embedded', dataDir: newFolder() });
  vi.unstubAllEnvs();
  await database.check();
  await database.close();
});

const commits = 25;

test('each commit is flushed to the disk, and the counter counts it', async () => {
  const dataDir = newFolder();
  const trace = join(newFolder(), 'trace');
  const strace = spawnSync('strace', ['-V']).status === 0;
  if (!strace) console.warn('LEFT OUT: strace is not installed, so fsyncs were only counted by the database itself.');

  const args = [fixturePath('commit-and-count.mjs'), dataDir, String(commits)];
  const calls = 'trace=fsync,fdatasync,write';
  const { child, lines } = strace
    ? start('strace', [
        '-f',
        '-y',
        '-s',
        '32',
        '-e',
        calls,
        '-e',
        'signal=none',
        '-o',
        trace,
        process.execPath,
        ...args,
      ])
    : start(process.execPath, args);
  await once(child, 'close');

  const counted = Number(/^counted (\d+)$/.exec(lines.at(-1) ?? '')?.[1]);
  // Each commit, plus at least two WAL segments and a checkpoint.
  expect(counted).toBeGreaterThan(commits + 5);
  if (!strace) return;

  const traced = readFileSync(trace, 'utf8').split('\n');
  const at = (text: string) => {
    const line = traced.findIndex((call) => call.includes(`"${text}\\n"`));
    if (line < 0) throw new Error(`${text} is not in the trace`);
    return line;
  };
  const syncs = (from: number, to: number) => traced.slice(from, to).filter(isSync);
  expect(syncs(at('begin'), at('end'))).toHaveLength(counted);
  let last = at('begin');
  for (let id = 0; id < commits; id += 1) {
    const next = at(`committed ${id}`);
    expect(
      syncs(last, next).filter((call) => call.includes('/pg_wal/')),
      `commit ${id}`,
    ).not.toEqual([]);
    last = next;
  }
});

/** A call interrupted by another thread takes two lines, of which the first is counted. */
function isSync(call: string): boolean {
  return /\bf(data)?sync\(/.test(call);
}

test('a first start makes the database visible only once all of it is on the disk', async () => {
  const trace = join(newFolder(), 'trace');
  if (spawnSync('strace', ['-V']).status !== 0) {
    console.warn('LEFT OUT: strace is not installed, so the order of writes in a first start was not checked.');
    return;
  }
  const dataDir = newFolder();
  const calls = 'trace=fsync,fdatasync,rename,renameat,renameat2,write';
  const arguments_ = ['-f', '-y', '-s', '8', '-e', calls, '-e', 'signal=none', '-o', trace, process.execPath];
  const running = start('strace', [...arguments_, fixturePath('open-and-wait.mjs'), dataDir]);
  await running.printed(1);
  // Not strace itself: the process that it traces would survive.
  process.kill(Number(readFileSync(join(dataDir, 'lock'), 'utf8')));
  await once(running.child, 'close');

  const traced = readFileSync(trace, 'utf8').split('\n');
  const named = traced.findIndex((call) => /rename.*pgdata\.new.*pgdata"/.test(call));
  expect(named).toBeGreaterThan(0);
  const synced = new Set(
    traced.slice(0, named).flatMap((call) => (isSync(call) ? (/<(.*?)>/.exec(call)?.[1] ?? []) : [])),
  );
  const template = readdirSync(templatePath(), { recursive: true, withFileTypes: true });
  const unsynced = template
    .map(({ parentPath, name }) => join(dataDir, 'pgdata.new', join(parentPath, name).slice(templatePath().length)))
    .filter((path) => !synced.has(path));
  expect(template.length).toBeGreaterThan(100);
  expect(unsynced).toEqual([]);
  expect(synced).toContain(join(dataDir, 'pgdata.new'));
  const after = traced.slice(named).find(isSync);
  expect(after).toContain(`<${dataDir}>`);
});

test('an interrupted first start begins again', async () => {
  const dataDir = newFolder();
  // Killed as soon as anything exists.
  const { child } = startFixture('open-and-wait.mjs', dataDir);
  while (!readdirSync(dataDir).includes('pgdata.new')) await setTimeout(2);
  await killHard(child);
  await mkdir(join(dataDir, 'pgdata.new', 'base'), { recursive: true });
  writeFileSync(join(dataDir, 'pgdata.new', 'base', 'half'), '');

  const database = await openDatabase({ kind: 'embedded', dataDir });
  await database.check();
  await database.close();
  expect(readdirSync(dataDir).sort()).toEqual(['lock', 'pgdata']);
  expect(readdirSync(join(dataDir, 'pgdata', 'base'))).not.toContain('half');
});

test('a first start from the template and one by initdb give the same database', async () => {
  const settings = async (template: string) => {
    const dataDir = newFolder();
    await prepareFolder(join(dataDir, 'pgdata'), template);
    const database = await openDatabase({ kind: 'embedded', dataDir });
    const all = await database.pool.query('select name, setting from pg_settings order by name');
    const locale = await database.pool.query(
      `select encoding, datcollate, datctype, datlocprovider, datlocale from pg_database where datname = 'postgres'`,
    );
    await database.close();
    return { all: all.rows, locale: locale.rows };
  };
  const copied = await settings(templatePath());
  expect(await settings(join(newFolder(), 'none'))).toEqual(copied);
  expect(copied.all).toEqual(
    expect.arrayContaining([
      { name: 'fsync', setting: 'on' },
      { name: 'wal_sync_method', setting: 'fsync' },
      { name: 'synchronous_commit', setting: 'on' },
      { name: 'full_page_writes', setting: 'on' },
      { name: 'server_encoding', setting: 'UTF8' },
      { name: 'TimeZone', setting: 'UTC' },
    ]),
  );
});

test('a database whose commits do not reach the disk is refused', async () => {
  const dataDir = newFolder();
  const opening = openEmbedded(dataDir, fixture('stock-worker.mjs'));
  await expect(opening).rejects.toThrow(DatabaseNotDurable);
  await expect(opening).rejects.toThrow(/would lose uploads\. Use the version of .* or set DATABASE_URL\.$/);
  // The refusal has released the folder.
  await (await openDatabase({ kind: 'embedded', dataDir })).close();
});
