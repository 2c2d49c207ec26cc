// @ts-check
// What recording an upload costs in all: CPU time of the service's main thread, of its other threads (the embedded store is one) and of
// PostgreSQL, and bytes of the write-ahead log, until nothing is left to be done about the file. And whole uploads: presign, PUT, record.
// Beside the service: the same work by hand (harness/record-by-hand.mjs), and the service of another built checkout, if
// BENCH_BASELINE names its folder. No file is an image: what is found out about those later is measured by `images`. BENCH_AT_ONCE
// says how many requests are under way at a time (8), BENCH_RECORDS how many there are in a round (1000).
import pg from 'pg';
import { bench } from './harness/cleanup.mjs';
import { quick, rounds, toSpread } from './harness/compare.mjs';
import { cpuOfThreads } from './harness/cpu-time.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { freePort, startMeasured } from './harness/measured-process.mjs';
import { send } from './harness/send.mjs';
import { signUp, startService } from './harness/service.mjs';
import { temporaryFolder } from './harness/temporary-folder.mjs';

const atOnce = Number(process.env.BENCH_AT_ONCE ?? 8);
const perRound = Number(process.env.BENCH_RECORDS ?? (quick ? 200 : 1000));
const baseline = process.env.BENCH_BASELINE;
const byHandScript = new URL('./harness/record-by-hand.mjs', import.meta.url);

/**
 * @typedef {object} Side
 * @property {string} name
 * @property {string} url
 * @property {number} pid
 * @property {string} projectId
 * @property {string} authorization
 * @property {pg.Client} [db] of its database; none if that is the embedded one
 * @property {() => number} postgresCpu microseconds that a PostgreSQL server on this machine has used
 * @property {() => Promise<void>} untilQuiet resolves when nothing is left to be done
 */
/** @typedef {{ rate: number, cpu: number, main: number, threads: number, postgres: number, wal: number }} Figures for each file, in microseconds and bytes */

await bench(async () => {
  await onEachDatabase(async (database, another) => {
    console.log(
      `\n## ${database.name}: ${atOnce} at once, ${perRound} in a round, ${rounds} rounds in turn; medians (lowest to highest)`,
    );
    /** @type {Side[]} */
    const sides = [await openService('service', database)];
    if (database.url) sides.push(await openByHand(await another()));
    if (baseline) sides.push(await openService('baseline', await another(), baseline));
    await measure('record, 64 bytes', sides, async (side) => {
      const bodies = await inParallel(perRound, (n) => upload(side, n, 64));
      return (n) => record(side, bodies[n] ?? '');
    });
    const [service] = sides;
    if (service) {
      const byHundreds = { ...service, name: 'service, by hundreds' };
      await measure('record, 64 bytes, by hundreds and one by one', [byHundreds, service], async (side) => {
        const bodies = await inParallel(perRound, (n) => upload(side, n, 64));
        if (side !== byHundreds) return (n) => record(side, bodies[n] ?? '');
        return async (n) => {
          if (n % 100 === 0) await recordBatch(side, bodies.slice(n, n + 100));
        };
      });
    }
    await measure(
      'upload, 10 kB',
      sides.filter(({ name }) => name !== 'by hand'),
      async (side) => async (n) => {
        await record(side, await upload(side, n, 10_000));
      },
    );
  });
});

/**
 * @param {string} name
 * @param {import('./harness/databases.mjs').BenchDatabase} database
 * @param {string} [root]
 * @returns {Promise<Side>}
 */
async function openService(name, database, root) {
  const { url, pid } = await startService(database, root);
  const { projectIds, authorization } = await signUp(url, ['Bench']);
  const db = await connect(database);
  const untilQuiet = db ? () => untilNoWork(db) : () => untilIdle(pid);
  return {
    name,
    url,
    pid,
    projectId: projectIds[0] ?? '',
    authorization,
    untilQuiet,
    postgresCpu: toPostgresCpu(database),
    ...(db && { db }),
  };
}

/**
 * @param {import('./harness/databases.mjs').BenchDatabase} database
 * @returns {Promise<Side>}
 */
async function openByHand(database) {
  const port = await freePort();
  const args = [String(port), await temporaryFolder(), database.url ?? ''];
  const { url, pid } = await startMeasured(byHandScript.pathname, args, {}, port);
  const db = await connect(database);
  const projectId = '0199f3a0-0000-7000-8000-000000000000';
  return {
    name: 'by hand',
    url,
    pid,
    projectId,
    authorization: 'Bearer by-hand',
    untilQuiet: async () => undefined,
    postgresCpu: toPostgresCpu(database),
    ...(db && { db }),
  };
}

/** @param {import('./harness/databases.mjs').BenchDatabase} database */
function toPostgresCpu({ local }) {
  return local?.cpuMicroseconds ?? (() => 0);
}

/** @param {import('./harness/databases.mjs').BenchDatabase} database */
async function connect({ url }) {
  if (!url) return undefined;
  const db = new pg.Client({ connectionString: url });
  // The server may end before this connection.
  db.on('error', () => undefined);
  await db.connect();
  await db.query('create schema measured; create extension pg_walinspect schema measured');
  return db;
}

/** @param {pg.Client} db */
async function untilNoWork(db) {
  for (;;) {
    const { rowCount } = await db.query(
      'select from work union all (select from files where content_check = $1) limit 1',
      ['pending'],
    );
    if (rowCount === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Of the embedded database, nothing is known but that its process does next to nothing for a while. @param {number} pid */
async function untilIdle(pid) {
  for (;;) {
    const before = cpuOfThreads(pid);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const after = cpuOfThreads(pid);
    if (after.main + after.threads - before.main - before.threads < 15_000) return;
  }
}

/**
 * @param {string} title
 * @param {Side[]} sides the first is compared with the others
 * @param {(side: Side) => Promise<(n: number) => Promise<void>>} prepare makes what one round does, which is not timed
 */
async function measure(title, sides, prepare) {
  /** @type {Map<Side, Figures[]>} */
  const figures = new Map(sides.map((side) => [side, []]));
  // One round more than measured: the first is the warm-up.
  for (let round = 0; round <= rounds; round += 1) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const run = await prepare(side);
      await side.untilQuiet();
      const one = await measureRound(side, run);
      if (round > 0) figures.get(side)?.push(one);
    }
  }
  console.log(`\n${title}`);
  const [first = [], ...others] = figures.values();
  for (const [{ name, db }, runs] of figures) {
    const of = (/** @type {keyof Figures} */ key) =>
      toSpread(
        runs.map((run) => run[key]),
        0,
      );
    const parts = `main thread ${of('main')}, other threads ${of('threads')}${db ? `, PostgreSQL ${of('postgres')}` : ''}`;
    console.log(
      `  ${name}: ${of('rate')} a second; ${of('cpu')} µs of CPU each: ${parts}${db ? `; WAL ${of('wal')} bytes each` : ''}`,
    );
  }
  for (const [index, other] of others.entries()) {
    const cpu = first.map((run, round) => (other[round]?.cpu ?? 0) / run.cpu);
    const rate = first.map((run, round) => run.rate / (other[round]?.rate ?? 0));
    console.log(
      `  ${sides[0]?.name} / ${sides[index + 1]?.name}: for the same CPU time ${toSpread(cpu)}, a second ${toSpread(rate)}`,
    );
  }
}

/**
 * @param {Side} side
 * @param {(n: number) => Promise<void>} run
 * @returns {Promise<Figures>}
 */
async function measureRound({ pid, db, postgresCpu, untilQuiet }, run) {
  const look = () => ({ ...cpuOfThreads(pid), postgres: postgresCpu() });
  const lsn = await currentLsn(db);
  const before = look();
  const started = performance.now();
  await inParallel(perRound, run);
  const rate = perRound / ((performance.now() - started) / 1000);
  await untilQuiet();
  const after = look();
  const each = (/** @type {'main' | 'threads' | 'postgres'} */ part) => (after[part] - before[part]) / perRound;
  const [main, threads, postgres] = [each('main'), each('threads'), each('postgres')];
  return { rate, cpu: main + threads + postgres, main, threads, postgres, wal: (await walSince(db, lsn)) / perRound };
}

/** @param {pg.Client} [db] @returns {Promise<string>} */
async function currentLsn(db) {
  const { rows } = (await db?.query('select pg_current_wal_insert_lsn()::text as lsn')) ?? { rows: [{ lsn: '' }] };
  return rows[0].lsn;
}

/**
 * Without the images of whole pages that follow a checkpoint: how many there are depends on when that was.
 * @param {pg.Client | undefined} db
 * @param {string} lsn
 */
async function walSince(db, lsn) {
  if (!db) return 0;
  // Of all databases of the server; the others do nothing meanwhile.
  await db.query('select pg_switch_wal()');
  const { rows } = await db.query(
    `select coalesce(sum(record_length - fpi_length), 0)::float8 as bytes from measured.pg_get_wal_records_info($1, pg_current_wal_flush_lsn())`,
    [lsn],
  );
  return rows[0].bytes;
}

/**
 * @param {Side} side
 * @param {number} n
 * @param {number} fileSize
 * @returns {Promise<string>} the body with which it is to be recorded
 */
async function upload({ url, projectId, authorization }, n, fileSize) {
  const file = { fileName: `letter ${n}.pdf`, mimeType: 'application/pdf', fileSize, folderId: null };
  const answer = await send(
    'POST',
    `${url}/api/storage/presign`,
    toHeaders(authorization),
    JSON.stringify({ projectId, ...file }),
  );
  const { presignedUrl, storeKey } = JSON.parse(answer);
  await send('PUT', presignedUrl, {}, toBytes(n, fileSize));
  return JSON.stringify({ projectId, storeKey, ...file });
}

/** @param {number} n @param {number} size */
function toBytes(n, size) {
  const bytes = Buffer.alloc(size, n % 251);
  bytes.write('%PDF-1.7\n');
  return bytes;
}

/** @param {Side} side @param {string} body */
async function record({ url, authorization }, body) {
  await send('POST', `${url}/api/storage/record`, toHeaders(authorization), body);
}

/** @param {Side} side @param {string[]} bodies of single requests */
async function recordBatch({ url, projectId, authorization }, bodies) {
  const files = bodies.map((body) => JSON.parse(body));
  const answer = await send(
    'POST',
    `${url}/api/storage/record/batch`,
    toHeaders(authorization),
    JSON.stringify({ projectId, files }),
  );
  const failed = JSON.parse(answer).results.find((/** @type {{ file?: object }} */ { file }) => !file);
  if (failed) throw new Error(JSON.stringify(failed));
}

/**
 * @template T
 * @param {number} count
 * @param {(n: number) => Promise<T>} work
 * @returns {Promise<T[]>}
 */
async function inParallel(count, work) {
  /** @type {T[]} */
  const done = [];
  let next = 0;
  const some = async () => {
    while (next < count) {
      const n = next++;
      done[n] = await work(n);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, some));
  return done;
}

/** @param {string} authorization */
function toHeaders(authorization) {
  return { authorization, 'content-type': 'application/json' };
}
