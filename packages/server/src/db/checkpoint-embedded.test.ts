import { readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkpointIfDue } from './checkpoint-embedded.ts';
import { type Database, openDatabase } from './open.ts';

const megabyte = 1024 ** 2;

async function openNew(): Promise<{ db: Database; logBytes(): number }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'cadiz-checkpoint-'));
  const db = await openDatabase({ kind: 'embedded', dataDir });
  onTestFinished(async () => {
    await db.close();
    await rm(dataDir, { recursive: true });
  });
  const folder = join(dataDir, 'pgdata/pg_wal');
  const logBytes = () => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  return { db, logBytes };
}

/** Makes so much of the log, and more. */
async function write(db: Database, bytes: number): Promise<void> {
  await db.pool.query('create table if not exists notes (note text)');
  for (let written = 0; written < bytes; written += 2 * megabyte)
    await db.pool.query('insert into notes select repeat(md5(n::text), 16) from generate_series(1, 4096) n');
}

test('a checkpoint is made once the log has grown, and not before', async () => {
  const { db } = await openNew();
  await write(db, 8 * megabyte);
  expect(await checkpointIfDue(db.pool)).toBe(false);
  await write(db, 32 * megabyte);
  expect(await checkpointIfDue(db.pool)).toBe(true);
  expect(await checkpointIfDue(db.pool)).toBe(false);
});

test('the log of a database in use stays small', async () => {
  const { db, logBytes } = await openNew();
  await write(db, 160 * megabyte);
  await expect.poll(logBytes).toBeLessThan(100 * megabyte);
});
