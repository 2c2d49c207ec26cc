// @ts-check
// A library of ten million files in one project, a million of them in one folder, next to a project of ten thousand, on
// PostgreSQL: first and deep pages in every order, searches, also right after many uploads, and the rate of presign next to
// sixty-four listing clients. Target: within 1.5 of the small project; a rare search below 50 ms (p99); presign at 0.5 of
// its rate. BENCH_FILES sets the number of files, BENCH_KEEP a folder that keeps the filled database for the next run,
// and BENCH_LIBRARY the parts to run: pages, searches, fresh, presign.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import autocannon from 'autocannon';
import pg from 'pg';
import { encodeCursor } from '../packages/server/dist/features/files/cursor.js';
import { bench } from './harness/cleanup.mjs';
import { connections, quick, toSpread } from './harness/compare.mjs';
import { fillLibrary, recordMore } from './harness/fill-library.mjs';
import { openKeptPostgres } from './harness/kept-postgres.mjs';
import { post, signUp, startService } from './harness/service.mjs';

const largeCount = Number(process.env.BENCH_FILES ?? (quick ? 100_000 : 10_000_000));
const smallCount = 10_000;
const limit = 100;
const samples = Number(process.env.BENCH_SAMPLES ?? (quick ? 20 : 200));
const fresh = quick ? 2000 : 200_000;
const deepPage = 5000;
const listers = 64;
const parts = (process.env.BENCH_LIBRARY ?? 'pages,searches,fresh,presign').split(',');
const presignSeconds = quick ? 2 : 8;

const sortColumns = { name: 'name_key', createdAt: 'id', fileSize: 'file_size' };

/** @type {(n: number) => string} */
const md5 = (n) => createHash('md5').update(`${n}`).digest('hex');
/** @type {(count: number, kind: number) => number} */
const randomOfKind = (count, kind) => Math.floor((Math.random() * count) / 10) * 10 + kind;

/** What is searched for, for a project of so many files. @type {[string, (count: number) => string][]} */
const words = [
  ['rare: one name in all', (count) => `am meer ${randomOfKind(count, 3)}.`],
  ['rare: eight characters of noise', (count) => md5(randomOfKind(count, 7)).slice(12, 20)],
  ['rare: none has it', () => 'kolibri'],
  ['rare: two characters that none has', () => '蝶々'],
  ['common: a fifth has it', () => 'img_'],
  ['common: one character', () => 'e'],
  ['common: two characters', () => 'ME'],
  ['common: 写真, a tenth', () => '写真'],
  ['東京, a hundredth', () => '東京'],
  ['a thousandth', () => '4711'],
];

/**
 * @typedef {{ projectId: string, folderId: string, count: number }} Place
 * @typedef {{ database: import('./harness/databases.mjs').BenchDatabase, places: Place[], authorization: string, recorded: number }} Library
 */

await bench(async () => {
  const library = await openLibrary();
  const service = await startService(library.database);
  const headers = { authorization: library.authorization };
  const get = toGet(service.url, headers);
  const [large] = library.places;
  if (!large) throw new Error('The library has no project');
  if (parts.includes('pages')) await measurePages(get, library);
  if (parts.includes('searches')) await measureSearches(get, library, 'searches');
  if (parts.includes('fresh')) {
    const started = performance.now();
    await recordMore(library.database.url ?? '', large.projectId, large.count + 1 + library.recorded, fresh);
    keepNote(library, library.recorded + fresh);
    console.log(`\n${fresh} files added in ${((performance.now() - started) / 1000).toFixed(0)} s`);
    await measureSearches(get, library, 'searches right after');
  }
  if (parts.includes('presign')) await measurePresign(service.url, headers, large);
  await service.stop();
});

/** @returns {Promise<Library>} */
async function openLibrary() {
  const postgres = await openKeptPostgres();
  const note = join(postgres.folder, 'library.json');
  const database = { name: 'PostgreSQL', dataDir: join(postgres.folder, 'service'), url: postgres.url };
  if (existsSync(note)) return { recorded: 0, ...JSON.parse(readFileSync(note, 'utf8')), database };
  const service = await startService(database);
  const { projectIds, authorization } = await signUp(service.url, ['Large', 'Small']);
  const places = [];
  for (const [index, projectId] of projectIds.entries()) {
    const folder = { projectId, name: 'Folder', parentId: null };
    const { id } = await post(`${service.url}/api/storage/folders`, folder, { authorization });
    places.push({ projectId, folderId: id, count: [largeCount, smallCount][index] ?? 0 });
  }
  await service.stop();
  console.log(`Filling a library of ${largeCount} files`);
  await fillLibrary(postgres.url, places);
  const library = { database, places, authorization, recorded: 0 };
  keepNote(library, 0);
  postgres.serve();
  return library;
}

/**
 * @param {Library} library
 * @param {number} recorded
 */
function keepNote({ database, places, authorization }, recorded) {
  writeFileSync(join(database.dataDir, '..', 'library.json'), JSON.stringify({ places, authorization, recorded }));
}

/** @typedef {(query: Record<string, string>) => Promise<{ milliseconds: number, body: any }>} Get */

/**
 * @param {string} url
 * @param {Record<string, string>} headers
 * @returns {Get}
 */
function toGet(url, headers) {
  return async (query) => {
    const started = performance.now();
    const answer = await fetch(`${url}/api/storage/list?${new URLSearchParams(query)}`, { headers });
    const text = await answer.text();
    const milliseconds = performance.now() - started;
    if (answer.status !== 200) throw new Error(`${JSON.stringify(query)}: ${answer.status} ${text}`);
    return { milliseconds, body: JSON.parse(text) };
  };
}

/**
 * @param {Get} get
 * @param {Library} library
 */
async function measurePages(get, library) {
  console.log(`\n## pages of ${limit}, one at a time; ms: p50, p99; against a project of ${smallCount}`);
  const pool = new pg.Pool({ connectionString: library.database.url ?? '', max: 1 });
  for (const where of ['project', 'folder']) {
    for (const sort of /** @type {const} */ (['name', 'createdAt', 'fileSize'])) {
      for (const order of /** @type {const} */ (['asc', 'desc'])) {
        for (const page of [1, deepPage]) {
          const queries = [];
          for (const place of library.places) {
            const listed = { projectId: place.projectId, folderId: where === 'folder' ? place.folderId : undefined };
            // In the small project, as deep as possible with a page that is just as full.
            const inside = (where === 'folder' ? place.count / 10 : place.count) - 2 * limit;
            const offset = page === 1 ? 0 : Math.min((page - 1) * limit, inside);
            const cursor = offset === 0 ? {} : { cursor: await cursorAt(pool, { ...listed, sort, order }, offset) };
            const folder = where === 'folder' ? { folderId: place.folderId } : {};
            queries.push({ projectId: place.projectId, ...folder, sort, order, limit: `${limit}`, ...cursor });
          }
          await compareTwo(
            `${where}, ${sort} ${order}, page ${page}`,
            get,
            queries.map((query) => () => query),
          );
        }
      }
    }
  }
  await pool.end();
}

/**
 * The cursor of a deep page, without reading all previous pages over HTTP.
 * @param {pg.Pool} pool
 * @param {{ projectId: string, folderId: string | undefined, sort: 'name' | 'createdAt' | 'fileSize', order: 'asc' | 'desc' }} listed
 * @param {number} offset
 */
async function cursorAt(pool, listed, offset) {
  const { projectId, folderId, sort, order } = listed;
  const column = sortColumns[sort];
  const by = column === 'id' ? '' : `${column} ${order}, `;
  const { rows } = await pool.query(
    `select id, ${column}::text as key from files where project_id = $1 and trash_id is null and ($2::uuid is null or folder_id = $2)
     order by ${by} id ${order} offset $3 limit 1`,
    [projectId, folderId ?? null, offset],
  );
  return encodeCursor(
    { kind: 'files', after: rows[0] },
    { ...listed, search: undefined, metadata: [], externalId: undefined },
  );
}

/**
 * @param {Get} get
 * @param {Library} library
 * @param {string} title
 */
async function measureSearches(get, library, title) {
  console.log(`\n## ${title}, first page of ${limit}, one at a time; ms: p50, p99; against a project of ${smallCount}`);
  for (const where of ['project', 'folder']) {
    for (const [sort, order] of [
      ['createdAt', 'desc'],
      ['name', 'asc'],
      ['fileSize', 'asc'],
    ]) {
      for (const [what, make] of words) {
        const queries = library.places.map(({ projectId, folderId, count }) => () => ({
          projectId,
          ...(where === 'folder' ? { folderId } : {}),
          search: make(count),
          sort: sort ?? '',
          order: order ?? '',
          limit: `${limit}`,
        }));
        await compareTwo(`${where}, ${sort} ${order}, ${what}`, get, queries);
      }
    }
  }
}

/**
 * Alternates between the large and the small project, and prints both.
 * @param {string} title
 * @param {Get} get
 * @param {(() => Record<string, string>)[]} makeQueries
 */
async function compareTwo(title, get, makeQueries) {
  const times = makeQueries.map(() => /** @type {number[]} */ ([]));
  let found = 0;
  const started = performance.now();
  for (let n = -3; n < samples; n += 1) {
    for (const [index, make] of makeQueries.entries()) {
      const { milliseconds, body } = await get(make());
      if (index === 0) found = body.files.length;
      if (n >= 0) times[index]?.push(milliseconds);
    }
    // A request that takes a second need not be repeated two hundred times.
    if (n >= 5 && performance.now() - started > 15_000) break;
  }
  const [large = [], small = []] = times;
  const ratio = (/** @type {number} */ at) => (quantile(large, at) / quantile(small, at)).toFixed(2);
  console.log(
    `  ${title}: ${quantile(large, 0.5).toFixed(1)}, ${quantile(large, 0.99).toFixed(1)}; small ${quantile(small, 0.5).toFixed(1)}, ${quantile(small, 0.99).toFixed(1)}; ratio ${ratio(0.5)}, ${ratio(0.99)}; ${found} found, ${large.length} times`,
  );
}

/**
 * @param {number[]} values
 * @param {number} at
 */
function quantile(values, at) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? 0;
}

/**
 * @param {string} url
 * @param {Record<string, string>} headers
 * @param {Place} place
 */
async function measurePresign(url, headers, { projectId }) {
  console.log(`\n## presign next to ${listers} clients that list whole projects, and pages`);
  const body = JSON.stringify({ projectId, fileName: 'a.jpg', mimeType: 'image/jpeg', fileSize: 1000, folderId: null });
  const presign = async () => {
    const result = await autocannon({
      url: `${url}/api/storage/presign`,
      method: 'POST',
      connections,
      duration: presignSeconds,
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    });
    if (result.non2xx + result.errors > 0) throw new Error(`${result.non2xx} refused, ${result.errors} errors`);
    return result.requests.average;
  };
  await presign();
  for (const [what, query] of [
    ['whole projects', ''],
    ['pages', `&limit=${limit}`],
    ['rare searches', `&limit=${limit}&search=kolibri`],
  ]) {
    const ratios = [];
    const rates = [];
    for (let round = 0; round < 3; round += 1) {
      const alone = await presign();
      const stop = startListers(`${url}/api/storage/list?projectId=${projectId}${query}`, headers);
      const loaded = await presign();
      const answered = await stop();
      ratios.push(loaded / alone);
      rates.push(answered / presignSeconds);
    }
    console.log(
      `  ${what}: ${toSpread(ratios)} of its rate; megabytes listed a second ${toSpread(
        rates.map((bytes) => bytes / 1e6),
        0,
      )}`,
    );
  }
}

/**
 * Clients that keep listing, and read whatever comes.
 * @param {string} url
 * @param {Record<string, string>} headers
 * @returns {() => Promise<number>} stops them; the answer is how many bytes came
 */
function startListers(url, headers) {
  let bytes = 0;
  let stopped = false;
  const agent = new http.Agent({ keepAlive: true, maxSockets: listers });
  const ask = () => {
    if (stopped) return;
    const request = http.get(url, { headers, agent }, (response) => {
      response.on('data', (/** @type {Buffer} */ chunk) => {
        bytes += chunk.length;
      });
      response.on('end', ask);
      response.on('error', () => undefined);
    });
    request.on('error', () => undefined);
  };
  for (let n = 0; n < listers; n += 1) ask();
  return async () => {
    stopped = true;
    agent.destroy();
    await new Promise((resolve) => setTimeout(resolve, 500));
    return bytes;
  };
}
