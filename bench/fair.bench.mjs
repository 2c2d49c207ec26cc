// @ts-check
// Fair shares: how long presign, record and a page of one project take beside 64 clients that send the worst listings and searches of
// another project of the same account. Ratios to the same requests without them, in turn. Target: p99 of presign and record at most twice
// what it is alone, without errors. BENCH_FILES sets the size of the other project, BENCH_LOAD part
// of the name of the loads to measure; BENCH_BASELINE=<a built checkout of another version>
// measures that one instead of this.
import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { atEnd, bench } from './harness/cleanup.mjs';
import { median, quick, rounds, toSpread } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { insertFiles } from './harness/many-files.mjs';
import { send } from './harness/send.mjs';
import { post, signUp, startService } from './harness/service.mjs';

const files = Number(process.env.BENCH_FILES ?? (quick ? 40_000 : 300_000));
/** Which of the loads are measured: those whose name contains this. */
const only = process.env.BENCH_LOAD ?? '';
const folders = 25;
const listers = 64;
const atOnce = 8;
const seconds = quick ? 2 : 5;
const records = quick ? 300 : 1200;
const neighbours = new URL('./harness/neighbours.mjs', import.meta.url);

/**
 * The worst that each kind of listing can ask.
 * @type {Record<string, string[]>}
 */
const worst = {
  'whole projects': [''],
  'pages of 1000': ['limit=1000&folderId=root&sort=name', 'limit=1000&sort=fileSize&order=desc'],
  'counts, paths and thumbnails': ['limit=1000&counts=true&paths=true&thumbnail=384'],
  'searches for frequent words that come late': [
    'limit=1000&search=latecomer&sort=name',
    'limit=1000&search=latecomer&counts=true',
  ],
};
worst['all of these'] = Object.values(worst).flat();

await bench(async () => {
  console.log(
    `${listers} listers of a project of ${files} files; ${atOnce} requests of the other project at once, ${rounds} rounds, each alone and beside; medians (lowest to highest)`,
  );
  await onEachDatabase(async (database) => {
    const side = await open(database);
    for (const [what, queries] of Object.entries(worst).filter(([what]) => what.includes(only)))
      await measure(what, queries, side, database.name);
    await side.service.stop();
  });
});

/** @typedef {Awaited<ReturnType<typeof open>>} Side */

/** @param {import('./harness/databases.mjs').BenchDatabase} database */
async function open(database) {
  const root = process.env.BENCH_BASELINE;
  const first = await startService(database, root);
  const { projectIds, authorization } = await signUp(first.url, ['Noisy', 'Quiet']);
  const [noisy = '', quiet = ''] = projectIds;
  const folderIds = [];
  for (let n = 0; n < folders; n += 1) {
    const folder = { projectId: noisy, name: `Folder ${n}`, parentId: null };
    folderIds.push((await post(`${first.url}/api/storage/folders`, folder, { authorization })).id);
  }
  await first.stop();
  const each = Math.floor(files / 2 / folders);
  await insertFiles(database, [
    { projectId: noisy, count: files / 2 },
    ...folderIds.map((folderId, n) => ({
      projectId: noisy,
      folderId,
      words: 'Latecomer',
      count: each,
      first: files / 2 + 1 + n * each,
    })),
    { projectId: quiet, count: 1000, first: 10_000_000 },
  ]);
  const service = await startService(database, root);
  return { service, noisy, quiet, authorization };
}

/**
 * @param {string} what
 * @param {string[]} queries
 * @param {Side} side
 * @param {string} name of the database
 */
async function measure(what, queries, side, name) {
  const { url } = side.service;
  const paths = queries.map((query) => `/api/storage/list?projectId=${side.noisy}&${query}`);
  const file = {
    projectId: side.quiet,
    fileName: 'a.bin',
    mimeType: 'application/octet-stream',
    fileSize: 64,
    folderId: null,
  };
  const presign = () => ask(side, 'POST', `${url}/api/storage/presign`, JSON.stringify(file));
  const page = () => ask(side, 'GET', `${url}/api/storage/list?projectId=${side.quiet}&limit=100`);
  const prepareRecords = async () => {
    /** @type {string[]} */
    const bodies = [];
    await inParallel(records, async () => {
      const { presignedUrl, storeKey } = JSON.parse(await presign());
      await ask(side, 'PUT', presignedUrl, 'x'.repeat(64));
      bodies.push(JSON.stringify({ ...file, storeKey }));
    });
    return bodies;
  };
  const run = async (/** @type {string[]} */ bodies) => ({
    presign: await timeFor(seconds, presign),
    record: await time(bodies, (body) => ask(side, 'POST', `${url}/api/storage/record`, body)),
    page: await timeFor(seconds, page),
  });
  await run((await prepareRecords()).slice(0, 100));
  const none = () => ({
    p99: /** @type {number[]} */ ([]),
    p50: /** @type {number[]} */ ([]),
    alone: /** @type {number[]} */ ([]),
    beside: /** @type {number[]} */ ([]),
  });
  const figures = { presign: none(), record: none(), page: none() };
  /** @type {Record<string, number>} */
  let answers = {};
  for (let round = 0; round < rounds; round += 1) {
    const [first, second] = [await prepareRecords(), await prepareRecords()];
    const alone = await run(first);
    const load = startLoad(url, side.authorization, paths);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const beside = await run(second);
    answers = await load.stop();
    for (const kind of /** @type {const} */ (['presign', 'record', 'page'])) {
      const of = figures[kind];
      of.p99.push(quantile(beside[kind], 0.99) / quantile(alone[kind], 0.99));
      of.p50.push(quantile(beside[kind], 0.5) / quantile(alone[kind], 0.5));
      of.alone.push(quantile(alone[kind], 0.99));
      of.beside.push(quantile(beside[kind], 0.99));
    }
  }
  console.log(`\n## beside ${what}, ${name}; answers to the listers of the last round: ${JSON.stringify(answers)}`);
  for (const [kind, { p99, p50, alone, beside }] of Object.entries(figures)) {
    console.log(
      `  ${kind}: p99 ${toSpread(p99)} of its time alone, p50 ${toSpread(p50)}; p99 ${median(alone).toFixed(1)} ms alone, ${median(beside).toFixed(1)} ms beside; 0 errors`,
    );
  }
}

/**
 * @param {string} url
 * @param {string} authorization
 * @param {string[]} paths
 */
function startLoad(url, authorization, paths) {
  const child = fork(neighbours, [new URL(url).port, authorization, String(listers), ...paths]);
  if (child.pid !== undefined) putLast(child.pid);
  const exited = once(child, 'exit');
  const end = async () => {
    child.kill();
    await exited;
  };
  atEnd(end);
  return {
    async stop() {
      const message = once(child, 'message');
      child.send('answers');
      const [answers] = await message;
      await end();
      return answers;
    },
  };
}

/**
 * Elsewhere, the listers would be on other machines; here, they go after whatever else needs a core. A low priority alone is not
 * enough: Linux lets even such a process finish its slice of some milliseconds before it runs one that has just been woken.
 * @param {number} pid
 */
function putLast(pid) {
  setPriority(pid, constants.priority.PRIORITY_LOW);
  const { error, status } = spawnSync('chrt', ['--all-tasks', '--idle', '--pid', '0', String(pid)], {
    stdio: 'inherit',
  });
  if (error || status !== 0) console.log('chrt failed, so the listers take cores from the service for milliseconds.');
}

/** @param {number[]} values @param {number} share */
function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** @param {number} duration seconds @param {() => Promise<unknown>} work @returns {Promise<number[]>} milliseconds of each */
async function timeFor(duration, work) {
  const end = performance.now() + duration * 1000;
  /** @type {number[]} */
  const times = [];
  const some = async () => {
    while (performance.now() < end) {
      const started = performance.now();
      await work();
      times.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, some));
  return times;
}

/** @template T @param {T[]} things @param {(thing: T) => Promise<unknown>} work @returns {Promise<number[]>} milliseconds of each */
async function time(things, work) {
  /** @type {number[]} */
  const times = [];
  await inParallel(things.length, async (n) => {
    const started = performance.now();
    await work(/** @type {T} */ (things[n]));
    times.push(performance.now() - started);
  });
  return times;
}

/** @param {number} count @param {(n: number) => Promise<void>} work */
async function inParallel(count, work) {
  let next = 0;
  const some = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, some));
}

/**
 * @param {Side} side
 * @param {string} method
 * @param {string} url
 * @param {string} [body]
 */
function ask({ authorization }, method, url, body) {
  return send(method, url, method === 'PUT' ? {} : { authorization, 'content-type': 'application/json' }, body);
}
