// @ts-check
// What the embedded default takes: time to be ready, memory when idle and after many whole uploads of 10 kB, and how much its
// folder holds beyond the files. BENCH_BASELINE=<a built checkout of another version> measures that one as well, in turn.
// Reach: ready within 3 s the first time and 1.5 s later, 330 MB idle, 450 MB after 50,000 uploads, 200 MB beyond the files.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { bench } from './harness/cleanup.mjs';
import { describeMachine, quick } from './harness/compare.mjs';
import { post, signUp, startService } from './harness/service.mjs';
import { temporaryFolder } from './harness/temporary-folder.mjs';

const uploads = Number(process.env.BENCH_FILES ?? (quick ? 1000 : 50_000));
const fileSize = 10_000;
const atOnce = 8;
const megabyte = 1e6;

await bench(async () => {
  describeMachine();
  await measure('this version', undefined);
  const baseline = process.env.BENCH_BASELINE;
  if (baseline) await measure('the baseline', baseline);
});

/** @param {string} name @param {string | undefined} checkout another than this one */
async function measure(name, checkout) {
  console.log(`\n## ${name}, embedded database and store`);
  const database = { name, dataDir: await temporaryFolder() };
  const first = await startTimed(database, checkout, 'first');
  await idle();
  console.log(`  idle: ${describeMemory(first)}`);
  await first.stop();
  const service = await startTimed(database, checkout, 'second');
  const { projectIds, authorization } = await signUp(service.url, ['Bench']);
  const begun = performance.now();
  await upload(service.url, projectIds[0] ?? '', { authorization });
  const rate = uploads / ((performance.now() - begun) / 1000);
  console.log(`  ${rate.toFixed(0)} uploads a second, ${atOnce} at a time`);
  await idle();
  console.log(`  after ${uploads} uploads: ${describeMemory(service)}`);
  const [bytes = ''] = execFileSync('du', ['-sb', database.dataDir], { encoding: 'utf8' }).split('\t');
  const beyond = Number(bytes) - uploads * fileSize;
  console.log(
    `  the folder: ${Math.round(beyond / megabyte)} MB beyond ${(uploads * fileSize) / megabyte} MB of files`,
  );
  await service.stop();
}

/** @param {import('./harness/databases.mjs').BenchDatabase} database @param {string | undefined} checkout @param {string} which */
async function startTimed(database, checkout, which) {
  const started = performance.now();
  const service = await startService(database, checkout);
  console.log(`  ${which} start: ready after ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return service;
}

/** Long enough for memory that is only needed at the start, or under load, to be given back. */
function idle() {
  return new Promise((resolve) => setTimeout(resolve, quick ? 2000 : 20_000));
}

/**
 * Resident memory counts the pages of the store's index that the system caches, once for each thread that maps it.
 * @param {import('./harness/measured-process.mjs').MeasuredProcess} service
 */
function describeMemory({ pid }) {
  const smaps = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const read = (/** @type {string} */ name) =>
    Math.round((Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(smaps)?.[1]) * 1024) / megabyte);
  return `${read('Rss')} MB resident, of which ${read('Pss_Anon')} its own, and ${read('Pss_File')} files that the system caches`;
}

/** @param {string} url @param {string} projectId @param {Record<string, string>} headers */
async function upload(url, projectId, headers) {
  let begun = 0;
  const worker = async () => {
    while (begun < uploads) {
      begun += 1;
      const mimeType = 'application/octet-stream';
      const file = { projectId, fileName: `File ${begun}.bin`, mimeType, fileSize, folderId: null };
      const { presignedUrl, storeKey } = await post(`${url}/api/storage/presign`, file, headers);
      const answer = await fetch(presignedUrl, { method: 'PUT', body: randomBytes(fileSize) });
      if (answer.status !== 200) throw new Error(`PUT: ${answer.status} ${await answer.text()}`);
      await answer.arrayBuffer();
      await post(`${url}/api/storage/record`, { ...file, storeKey }, headers);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
