// @ts-check
// What a look at the work queue and a claim take while it is full: BENCH_WORK rows of one project that are ready (1,000,000), and a third as
// many of others that are not due. Both must take as long as when it is nearly empty.
import { randomUUID } from 'node:crypto';
import { migrate } from '../packages/server/dist/db/migrate.js';
import { openDatabase } from '../packages/server/dist/db/open.js';
import { claimWork, firstProject, lookForWork } from '../packages/server/dist/work/lease.js';
import { bench } from './harness/cleanup.mjs';
import { describeMachine, quick } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';

const rows = Number(process.env.BENCH_WORK ?? (quick ? 10_000 : 1_000_000));
const claims = 20;
const atOnce = 22;

await bench(async () => {
  describeMachine();
  await onEachDatabase(async ({ name, url, dataDir }) => {
    const db = await openDatabase(
      url ? { kind: 'postgres', url } : { kind: 'embedded', dataDir: `${dataDir}/database` },
    );
    await migrate(db.pool);
    for (const count of [100, rows]) {
      await db.pool.query(
        `insert into work (kind, project_id, subject, state, due_at)
         select 'test', $1, n::text, 'ready', now() from generate_series(1, $2::int) n`,
        [randomUUID(), count],
      );
      await db.pool.query(
        `insert into work (kind, project_id, subject, state, due_at)
         select 'later', gen_random_uuid(), n::text, 'waiting', now() + interval '1 day' from generate_series(1, $1::int) n`,
        [Math.floor(count / 3)],
      );
      /** @type {number[][]} */
      const [looks, taken] = [[], []];
      for (let n = 0; n < claims; n++) {
        const started = performance.now();
        await lookForWork(db.pool, ['test', 'later']);
        const between = performance.now();
        const tasks = await claimWork(db.pool, 'test', atOnce, firstProject);
        if (n === 0 && tasks.length === 0) throw new Error('Nothing was claimed');
        looks?.push(between - started);
        taken?.push(performance.now() - between);
      }
      console.log(
        `${name}, ${count} ready: a look ${median(looks ?? [])} ms, a claim of ${atOnce} ${median(taken ?? [])} ms`,
      );
    }
    await db.close();
  });
});

/** @param {number[]} values */
function median(values) {
  return (values.sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0).toFixed(1);
}
