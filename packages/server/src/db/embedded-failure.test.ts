import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeTestFolder } from '../../test/embedded-database.ts';
import { DatabaseFolderUnusable, DatabaseFolderUnwritable } from './database-errors.ts';
import { openEmbedded } from './embedded.ts';
import { openDatabase } from './open.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await makeTestFolder();
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

it('acknowledges nothing after a failed fsync, stops, and can be opened again', async () => {
  const worker = new URL('../../test/db/failing-disk-worker.mjs', import.meta.url);
  const embedded = await openEmbedded(dataDir, worker);
  const pool = new pg.Pool({ max: 1, stream: () => embedded.connect(), user: 'postgres', database: 'postgres' });
  pool.on('error', () => undefined);
  await pool.query('create table rows (id int primary key)');
  await pool.query('insert into rows values (1)');

  await writeFile(join(dataDir, 'fail'), '');
  await expect(pool.query('insert into rows values (2)')).rejects.toThrow('The embedded database in');
  expect((await embedded.failed).message).toBe(
    `The embedded database in ${dataDir} has stopped: Error: EIO: i/o error.`,
  );
  await expect(pool.query('select 1')).rejects.toThrow(`The embedded database in ${dataDir} has stopped`);
  await embedded.close();
  await pool.end();

  const again = await openDatabase({ kind: 'embedded', dataDir });
  expect((await again.pool.query('select id from rows where id = 1')).rowCount).toBe(1);
  await again.close();
});

it('does not report a failure when it is closed', async () => {
  const db = await openDatabase({ kind: 'embedded', dataDir });
  let failed = false;
  void db.failed.then(() => {
    failed = true;
  });
  await db.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(failed).toBe(false);
});

it('keeps its memory constant, however many rows it returns', async () => {
  const db = await openDatabase({ kind: 'embedded', dataDir });
  const answer = async (times: number) => {
    for (let i = 0; i < times; i++) await db.pool.query("select repeat('x', 1000) from generate_series(1, 5000)");
    return process.memoryUsage().rss;
  };
  const before = await answer(20);
  // The answers total 200 MB: if they were kept, it would show.
  expect(((await answer(40)) - before) / 1e6).toBeLessThan(100);
  await db.close();
});

it.each([
  ['a PG_VERSION of another PostgreSQL', '17\n', 'was made by PostgreSQL 17'],
  ['files that are not a database', undefined, 'holds no database'],
])('leaves a folder with %s alone', async (_name, version, sentence) => {
  await mkdir(join(dataDir, 'pgdata'));
  await writeFile(join(dataDir, 'pgdata/precious'), 'x');
  if (version) await writeFile(join(dataDir, 'pgdata/PG_VERSION'), version);
  const opening = openDatabase({ kind: 'embedded', dataDir });
  await expect(opening).rejects.toThrow(DatabaseFolderUnusable);
  await expect(opening).rejects.toThrow(sentence);
  expect(existsSync(join(dataDir, 'pgdata/precious'))).toBe(true);
});

it('names a folder that cannot be created', async () => {
  const file = join(dataDir, 'file');
  await writeFile(file, '');
  const opening = openDatabase({ kind: 'embedded', dataDir: join(file, 'database') });
  await expect(opening).rejects.toThrow(DatabaseFolderUnwritable);
  await expect(opening).rejects.toThrow(join(file, 'database'));
});
