// @ts-check
// Listings: 100 files out of a thousand, a hundred thousand and a million, from the service and from a bare node:http
// handler that sends the same bytes; and a whole project of a million files. Target: the page out of the largest project
// at 0.9 of the page out of the smallest; the whole project with less than 60 MB of growth, first byte within 100 ms.
import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import { bench } from './harness/cleanup.mjs';
import { compare, describeMachine, quick, toSpread } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { insertFiles } from './harness/many-files.mjs';
import { signUp, startBareServer, startService, temporaryFolder } from './harness/service.mjs';

const sizes = quick ? [1000, 5000, 20_000] : [1000, 100_000, 1_000_000];
const largest = sizes.at(-1) ?? 0;
const limit = 100;
const firstBytes = quick ? 5 : 25;
const wholeListings = quick ? 2 : 5;
const samplingMilliseconds = 20;

await bench(async () => {
  describeMachine();
  await onEachDatabase(async (database) => {
    const { service, projects, headers } = await startWithFiles(database);
    const paths = projects.map(({ projectId }) => `/api/storage/list?projectId=${projectId}&limit=${limit}`);
    const [smallest = ''] = paths;
    const firstPage = await read(service.url + smallest, headers);
    const listingFile = join(await temporaryFolder(), 'listing.json');
    await writeFile(listingFile, firstPage);
    const bare = await startBareServer(listingFile);
    const large = projects.at(-1)?.projectId ?? '';
    const middle = await findMiddle(service.url, large, headers);

    const side = {
      process: service,
      headers,
      ...(database.cpuMicroseconds && { databaseCpu: database.cpuMicroseconds }),
    };

    await compare(`list ${limit} of …, ${database.name}; ${firstPage.length} bytes`, [
      { ...side, name: `of ${sizes[0]}`, path: smallest },
      ...paths.slice(1).map((path, index) => ({ ...side, name: `of ${sizes[index + 1]}`, path })),
      { ...side, name: `from the middle of ${largest}`, path: `${paths.at(-1)}&cursor=${middle}` },
      { name: 'bare', process: bare, headers, path: smallest },
    ]);
    await bare.stop();
    await measureWhole(service, large, headers, database.name);
    await service.stop();
  });
});

/** @param {import('./harness/databases.mjs').BenchDatabase} database */
async function startWithFiles(database) {
  const first = await startService(database);
  const names = sizes.map((count) => `${count} files`);
  const { projectIds, authorization } = await signUp(first.url, names);
  await first.stop();
  const projects = sizes.map((count, index) => ({ projectId: projectIds[index] ?? '', count }));
  const started = performance.now();
  await insertFiles(database, projects);
  console.log(`\n${database.name}: rows inserted in ${((performance.now() - started) / 1000).toFixed(0)} s`);
  return { service: await startService(database), projects, headers: { authorization } };
}

/**
 * The cursor halfway through a project, found as a client would: page by page.
 * @param {string} url
 * @param {string} projectId
 * @param {Record<string, string>} headers
 */
async function findMiddle(url, projectId, headers) {
  let cursor = '';
  for (let passed = 0; passed < largest / 2; passed += 1000) {
    const after = cursor && `&cursor=${cursor}`;
    const page = await read(`${url}/api/storage/list?projectId=${projectId}&limit=1000${after}`, headers);
    cursor = JSON.parse(page).nextCursor;
  }
  return cursor;
}

/**
 * @param {string} url
 * @param {Record<string, string>} headers
 */
async function read(url, headers) {
  const answer = await fetch(url, { headers });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${text}`);
  return text;
}

/**
 * @param {import('./harness/measured-process.mjs').MeasuredProcess} service
 * @param {string} projectId
 * @param {Record<string, string>} headers
 * @param {string} name
 */
async function measureWhole(service, projectId, headers, name) {
  const url = `${service.url}/api/storage/list?projectId=${projectId}`;
  console.log(`\n## a whole project of ${largest} files, ${name}`);
  const delays = [];
  for (let time = 0; time < firstBytes; time += 1) delays.push((await download(url, headers, true)).firstByte);
  console.log(`  first byte after ${toSpread(delays, 1)} ms, of ${firstBytes}`);
  for (let time = 1; time <= wholeListings; time += 1) {
    const before = (await service.used()).rssBytes;
    let peak = before;
    const sampling = setInterval(async () => {
      peak = Math.max(peak, (await service.used()).rssBytes);
    }, samplingMilliseconds);
    const { firstByte, milliseconds, bytes, ending } = await download(url, headers, false).finally(() =>
      clearInterval(sampling),
    );
    if (!ending.endsWith('"nextCursor":null}')) throw new Error(`The listing was cut: ${ending}`);
    const megabytes = (/** @type {number} */ count) => `${(count / 1e6).toFixed(0)} MB`;
    console.log(
      `  listing ${time}: ${megabytes(bytes)} in ${(milliseconds / 1000).toFixed(1)} s, first byte after ${firstByte.toFixed(1)} ms; memory from ${megabytes(before)} up to ${megabytes(peak)}: growth ${megabytes(peak - before)}`,
    );
  }
}

/**
 * @param {string} url
 * @param {Record<string, string>} headers
 * @param {boolean} onlyStart goes away after the first byte
 * @returns {Promise<{ firstByte: number, milliseconds: number, bytes: number, ending: string }>} firstByte in milliseconds
 */
function download(url, headers, onlyStart) {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    let firstByte = 0;
    let bytes = 0;
    /** @type {Buffer} */
    let last = Buffer.alloc(0);
    const finish = () => {
      const milliseconds = performance.now() - started;
      resolve({ firstByte, milliseconds, bytes, ending: last.subarray(-100).toString() });
    };
    const request = http.get(url, { headers, agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`));
      response.on('data', (/** @type {Buffer} */ chunk) => {
        firstByte ||= performance.now() - started;
        bytes += chunk.length;
        last = chunk.length < 100 ? Buffer.concat([last, chunk]) : chunk;
        if (!onlyStart) return;
        finish();
        request.destroy();
      });
      response.on('end', finish);
      response.on('error', reject);
    });
    request.on('error', reject);
  });
}
