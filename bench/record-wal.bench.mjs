// @ts-check
// What recording an upload writes: bytes of the write-ahead log, transactions and statements for each file, from its request until its first
// bytes have been looked at. Needs a PostgreSQL of its own in BENCH_DATABASE_URL that preloads pg_stat_statements; without it, statements
// are not counted. BENCH_RECORDS says how many files (500).
import pg from 'pg';
import { bench } from './harness/cleanup.mjs';
import { connections } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { post, signUp, startService } from './harness/service.mjs';

const files = Number(process.env.BENCH_RECORDS ?? 500);

await bench(async () => {
  process.env.BENCH_DATABASE = 'postgres';
  await onEachDatabase(async (database) => {
    const db = new pg.Client({ connectionString: database.url });
    await db.connect();
    await db.query('create schema measured; set search_path = public, measured');
    const countsStatements = await db.query('create extension pg_stat_statements schema measured').then(
      () => true,
      () => false,
    );
    for (const atOnce of [1, connections]) {
      await db.query('drop schema public cascade; create schema public');
      const service = await startService(database);
      const { projectIds, authorization } = await signUp(service.url, ['Bench']);
      const projectId = projectIds[0] ?? '';
      const record = async (/** @type {number} */ n) => {
        const file = { fileName: `photo ${n}.jpg`, mimeType: 'text/plain', fileSize: 64, folderId: null };
        const { presignedUrl, storeKey } = await post(
          `${service.url}/api/storage/presign`,
          { projectId, ...file },
          { authorization },
        );
        const put = await fetch(presignedUrl, { method: 'PUT', body: Buffer.alloc(file.fileSize, n % 256) });
        if (put.status !== 200) throw new Error(`upload: ${put.status}`);
        await put.arrayBuffer();
        await post(`${service.url}/api/storage/record`, { projectId, storeKey, ...file }, { authorization });
      };
      await record(0);
      await allLookedAt(db);
      // What the start of the service still writes is not part of it.
      await new Promise((resolve) => setTimeout(resolve, 3000));
      if (countsStatements) await db.query('select pg_stat_statements_reset()');
      const before = await look(db);
      let next = 1;
      const work = async () => {
        while (next <= files) await record(next++);
      };
      await Promise.all(Array.from({ length: atOnce }, work));
      await allLookedAt(db);
      const after = await look(db);
      const each = (/** @type {number} */ n) => (n / files).toFixed(2);
      console.log(`\n${files} files, ${atOnce} at once: ${each(after.wal - before.wal)} bytes of WAL for each`);
      if (countsStatements) {
        const { rows } = await db.query(
          `select calls::int, wal_bytes::float8 as wal, regexp_replace(query, '\\s+', ' ', 'g') as text from pg_stat_statements
           where dbid = (select oid from pg_database where datname = current_database())
             and query !~ 'pg_stat|pg_wal|content_check = .pending' and calls >= $1 order by calls desc`,
          [files / 50],
        );
        for (const { calls, wal, text } of rows) {
          console.log(`  ${each(calls)} × ${each(wal)} bytes: ${text.slice(0, 110)}`);
        }
      }
      await service.stop();
    }
    await db.end();
  });
});

/** @param {pg.Client} db */
async function look(db) {
  const { rows } = await db.query(`select (pg_current_wal_insert_lsn() - '0/0')::float8 as wal`);
  return rows[0];
}

/** @param {pg.Client} db */
async function allLookedAt(db) {
  for (;;) {
    const { rowCount } = await db.query(`select from files where content_check = 'pending' limit 1`);
    if (rowCount === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
