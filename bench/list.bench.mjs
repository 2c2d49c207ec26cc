// @ts-check
// Listings: 100 files out of a thousand, a hundred thousand and a million, from the service and from a bare node:http
// handler that sends the same bytes; and a whole project of a million files. Target: the page out of the largest project
// at 0.9 of the page out of the smallest; the whole project with less than 60 MB of growth, first byte within 100 ms; presign
// beside 24 listing clients at 0.4 of its rate, if the service and the database share one core.
import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { bench } from './harness/cleanup.mjs';
import { compare, describeMachine, quick, rounds, toSpread } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { insertFiles } from './harness/many-files.mjs';
import { putOnOneCore } from './harness/one-core.mjs';
import { signUp, startBareServer, startService } from './harness/service.mjs';
import { temporaryFolder } from './harness/temporary-folder.mjs';

const sizes = quick ? [1000, 5000, 20_000] : [1000, 100_000, 1_000_000];
const largest = sizes.at(-1) ?? 0;
const limit = 100;
const firstBytes = quick ? 5 : 25;
const wholeListings = quick ? 2 : 5;
const samplingMilliseconds = 20;
const listers = 24;
const besideSeconds = quick ? 2 : 4;

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
      ...(database.local && { databaseCpu: database.local.cpuMicroseconds }),
    };

    await compare(`list ${limit} of …, ${database.name}; ${firstPage.length} bytes`, [
      { ...side, name: `of ${sizes[0]}`, path: smallest },
      ...paths.slice(1).map((path, index) => ({ ...side, name: `of ${sizes[index + 1]}`, path })),
      { ...side, name: `from the middle of ${largest}`, path: `${paths.at(-1)}&cursor=${middle}` },
      { name: 'bare', process: bare, headers, path: smallest },
    ]);
    await bare.stop();
    await measureNeighbours(service, database, large, headers);
    await measureWhole(service, large, headers, database.name);
    await service.stop();
  });
});

/**
 * Presign beside clients that list pages, with the service and its database on one core, and the clients on another.
 * @param {import('./harness/measured-process.mjs').MeasuredProcess} service
 * @param {import('./harness/databases.mjs').BenchDatabase} database
 * @param {string} projectId
 * @param {Record<string, string>} headers
 */
async function measureNeighbours(service, database, projectId, headers) {
  console.log(`\n## presign beside ${listers} clients that list pages of ${limit}, all on one core, ${database.name}`);
  const release = putOnOneCore([service.pid, ...(database.local?.processes() ?? [])]);
  if (!release || (database.url && !database.local)) {
    release?.();
    return console.log('  left out: it needs two cores, taskset, and the database on this machine');
  }
  const used = async () => (await service.used()).cpuMicroseconds + (database.local?.cpuMicroseconds() ?? 0);
  const request = { projectId, fileName: 'a.jpg', mimeType: 'image/jpeg', fileSize: 1000, folderId: null };
  /** @type {(seconds: number) => Promise<{ rate: number, forCpu: number }>} requests per second, and per second of CPU */
  const presign = async (duration) => {
    const before = await used();
    const result = await autocannon({
      url: `${service.url}/api/storage/presign`,
      method: 'POST',
      connections: 16,
      duration,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    const answered = requireAnswers(result);
    return { rate: answered / duration, forCpu: (answered / ((await used()) - before)) * 1e6 };
  };
  const list = async (/** @type {number} */ duration) => {
    const url = `${service.url}/api/storage/list?projectId=${projectId}&limit=${limit}`;
    return requireAnswers(await autocannon({ url, connections: listers, duration, headers })) / duration;
  };
  await presign(besideSeconds);
  /** @type {Record<'rate' | 'forCpu' | 'pages', number[]>} */
  const ratios = { rate: [], forCpu: [], pages: [] };
  for (let round = 0; round < rounds; round += 1) {
    const alone = await presign(besideSeconds);
    const pagesAlone = await list(besideSeconds);
    const listing = list(besideSeconds + 1);
    const beside = await presign(besideSeconds);
    ratios.pages.push((await listing) / pagesAlone);
    ratios.rate.push(beside.rate / alone.rate);
    ratios.forCpu.push(beside.forCpu / alone.forCpu);
  }
  console.log(
    `  of its rate alone ${toSpread(ratios.rate)}; for the same CPU time of both ${toSpread(ratios.forCpu)}; pages, of their rate alone ${toSpread(ratios.pages)}`,
  );
  release();
}

/** @param {import('autocannon').Result} result */
function requireAnswers(result) {
  if (result.non2xx + result.errors > 0) throw new Error(`${result.non2xx} refused, ${result.errors} errors`);
  return result['2xx'];
}

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
