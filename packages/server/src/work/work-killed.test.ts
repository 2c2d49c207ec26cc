import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { series } from '../../../../scripts/series.mjs';
import { createServerDatabase, testableKinds } from '../../test/database.ts';
import { makeTestFolder } from '../../test/embedded-database.ts';
import { migrate } from '../db/migrate.ts';
import { type Database, type DatabaseSettings, openDatabase } from '../db/open.ts';
import { enqueue } from './enqueue.ts';
import { startWork } from './run-work.ts';

const fixture = fileURLToPath(new URL('../../test/db/work-until-killed.mjs', import.meta.url));
const rounds = series({ full: 10, ci: 5, short: 3 });
const atOnce = 3;
const perRound = 12;

/** Creates a database that any process can open, with a way to remove it. */
async function makeDatabase(kind: Database['kind']): Promise<{ settings: DatabaseSettings; remove(): Promise<void> }> {
  if (kind === 'postgres') {
    const { url, drop } = await createServerDatabase();
    return { settings: { kind, url }, remove: drop };
  }
  const dataDir = await makeTestFolder();
  return { settings: { kind, dataDir }, remove: () => rm(dataDir, { recursive: true, force: true }) };
}

/** A process that does work; `done` grows with each subject it completes. */
function startWorker(settings: DatabaseSettings): { child: ChildProcess; done: string[] } {
  const at = settings.kind === 'embedded' ? settings.dataDir : settings.url;
  const child = spawn(process.execPath, ['--liftoff-only', fixture, at], { stdio: ['ignore', 'pipe', 'inherit'] });
  const done: string[] = [];
  if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => done.push(line));
  return { child, done };
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'close');
}

test.each(testableKinds)(`kill -9 loses no work and does little of it twice, ${rounds} times (%s)`, async (kind) => {
  const { settings, remove } = await makeDatabase(kind);
  try {
    // Two processes on PostgreSQL; only one can open the embedded database.
    const processes = kind === 'postgres' ? 2 : 1;
    // Far more than can be done before the last kill.
    const ids = Array.from({ length: rounds * perRound * (kind === 'postgres' ? 30 : 3) }, (_, n) => `s${n}`);
    const projects = [randomUUID(), randomUUID()];
    let db = await openDatabase(settings);
    await migrate(db.pool);
    await db.pool.query('create table done (subject text not null)');
    const subjects = ids.map((id, n) => ({ id, projectId: projects[n % 2] ?? '' }));
    await enqueue(db.kysely, 'test', subjects);
    await db.close();

    for (let round = 0; round < rounds; round++) {
      const workers = Array.from({ length: processes }, () => startWorker(settings));
      const countDone = () => workers.reduce((sum, { done }) => sum + done.length, 0);
      await vi.waitFor(() => expect(countDone()).toBeGreaterThan(perRound), { timeout: 120_000, interval: 5 });
      await Promise.all(workers.map(({ child }) => kill(child)));
      if (kind === 'postgres') await endLeasesOfTheDead(settings);
    }

    db = await openDatabase(settings);
    const work = startWork({ db, log: pino({ level: 'silent' }) }, [
      {
        name: 'test',
        atOnce,
        async run({ id }) {
          await db.pool.query('insert into done (subject) values ($1)', [id]);
          return undefined;
        },
      },
    ]);
    const count = async (sql: string) => (await db.pool.query(sql)).rows[0].count;
    await vi.waitFor(async () => expect(await count('select count(*) from work')).toBe(0), { timeout: 120_000 });
    await work.close();
    expect(await count('select count(distinct subject) from done')).toBe(ids.length);
    // Only tasks that were running at the moment of the kill.
    const twice = (await count('select count(*) from done')) - ids.length;
    expect(twice).toBeLessThanOrEqual(rounds * processes * atOnce);
    await db.close();
  } finally {
    await remove();
  }
});

/** Ends leases as the passing of a minute would. If only one process uses the database, none has to wait. */
async function endLeasesOfTheDead(settings: DatabaseSettings): Promise<void> {
  const db = await openDatabase(settings);
  // The server continues the last statement of a killed process for a moment.
  const others = 'select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
  await vi.waitFor(async () => expect((await db.pool.query(others)).rowCount).toBe(0), { timeout: 60_000 });
  await db.pool.query(`update work set due_at = now() - interval '1 second' where state = 'leased'`);
  await db.close();
}
