// @ts-check
// Searches in a project of a hundred thousand files and in one of a million, for words that few or many names have, in each
// order: the first page, and all pages until the end. Target: the first page within 0.3 s, whatever the word.
// BENCH_FILES sets the sizes of the projects, separated by commas; BENCH_BASELINE=<a built checkout of another version>
// measures that one as well, in turn, on the same database.
import { migrate } from '../packages/server/dist/db/migrate.js';
import { openDatabase } from '../packages/server/dist/db/open.js';
import { bench } from './harness/cleanup.mjs';
import { describeMachine, median, quick, rounds } from './harness/compare.mjs';
import { onEachDatabase } from './harness/databases.mjs';
import { signUp, startService } from './harness/service.mjs';

const sizes = (process.env.BENCH_FILES ?? (quick ? '10000,50000' : '100000,1000000')).split(',').map(Number);
const limit = 100;
const times = quick ? 1 : 5;
const atOnce = 50_000;
const targetMilliseconds = 300;

/** What is searched for, with how many of the files have it. */
const searches = [
  { what: 'none', words: { search: 'kolibri' } },
  { what: 'one', words: { search: 'am meer 4321.' } },
  { what: 'a fifth, everywhere', words: { search: 'img_' } },
  { what: 'a tenth, the last by name, time and size', words: { search: 'latecomer' } },
  { what: 'a third, the last by name, time and size', words: { search: 'lastthird' } },
  { what: 'metadata of a tenth, the last by name, time and size', words: { 'metadata.when': 'late' } },
];
const orders = [
  ['name', 'asc'],
  ['createdAt', 'asc'],
  ['fileSize', 'asc'],
  ['createdAt', 'desc'],
];

/** The last third comes last by name, by time and by size. Every tenth name of each kind is in the folder. */
const insertSql = `
  insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag, metadata, created_at, updated_at)
  select $1::uuid, (substr(t, 1, 8) || '-' || substr(t, 9) || '-7' || substr(h, 1, 3) || '-8' || substr(h, 4, 3) || '-' || substr(h, 7, 12))::uuid,
         $1::uuid::text || '/' || n, name, upper(name), 1000 + n, 'image/jpeg', case when n / 10 % 10 = 3 then $4::uuid end, h,
         case when n > $5::bigint * 9 / 10 then '{"when":"late"}'::json end, to_timestamp(ms / 1000.0), to_timestamp(ms / 1000.0)
  from (
    select n, ms, lpad(to_hex(ms), 12, '0') as t, h, case
             when n > $5::bigint * 9 / 10 then 'Übersicht ' || n || ' lastthird latecomer.jpg'
             when n > $5::bigint * 2 / 3 then 'Übersicht ' || n || ' lastthird.jpg'
             when n % 5 = 0 then 'IMG_' || n || '.jpg'
             when n % 5 = 1 then 'Ferien am Meer ' || n || '.jpg'
             when n % 5 = 2 then 'Screenshot 2026-10-' || n % 28 || ' ' || n || '.png'
             when n % 5 = 3 then h || '.bin'
             else 'invoice-' || n || '.pdf' end as name
    from (select n, 1790000000000 + n as ms, md5(n::text) as h from generate_series($2::bigint, $3::bigint) n) numbers
  ) rows`;

await bench(async () => {
  describeMachine();
  await onEachDatabase(async (database) => {
    const first = await startService(database);
    const { projectIds, authorization } = await signUp(
      first.url,
      sizes.map((count) => `${count} files`),
    );
    const projects = [];
    for (const [index, count] of sizes.entries()) {
      const projectId = projectIds[index] ?? '';
      const answer = await fetch(`${first.url}/api/storage/folders`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ projectId, name: 'Folder', parentId: null }),
      });
      projects.push({ projectId, folderId: (await answer.json()).id, count });
    }
    await first.stop();
    const started = performance.now();
    await fill(database, projects);
    console.log(`\n${database.name}: rows inserted in ${((performance.now() - started) / 1000).toFixed(0)} s`);
    /** @type {{ name: string, root?: string }[]} */
    const sides = [{ name: 'this version' }];
    if (process.env.BENCH_BASELINE) sides.unshift({ name: 'the baseline', root: process.env.BENCH_BASELINE });
    /** @type {Map<string, Map<string, Figures[]>>} */
    const figures = new Map();
    for (let round = 0; round < Math.min(rounds, 2); round += 1) {
      for (const { name, root } of sides) {
        const service = await startService(database, root);
        const used = async () => (await service.used()).cpuMicroseconds + (database.local?.cpuMicroseconds() ?? 0);
        for (const { title, query } of projects.flatMap(toQueries)) {
          const url = `${service.url}/api/storage/list?${new URLSearchParams(query)}`;
          const measured = await measure(url, { authorization }, used);
          const bySide = figures.get(title) ?? new Map();
          figures.set(title, bySide.set(name, [...(bySide.get(name) ?? []), measured]));
        }
        await service.stop();
      }
    }
    print(database.name, figures);
  });
});

/** @typedef {{ projectId: string, folderId: string, count: number }} Project */

/**
 * @param {Project} project
 * @returns {{ title: string, query: Record<string, string> }[]}
 */
function toQueries({ projectId, folderId, count }) {
  return searches.flatMap(({ what, words }) =>
    orders.flatMap(([sort = '', order = '']) =>
      [{}, { folderId }].map((place) => ({
        title: `${what}, of ${count}, ${'folderId' in place ? 'folder' : 'project'}, ${sort} ${order}`,
        query: { projectId, sort, order, ...place, ...words },
      })),
    ),
  );
}

/**
 * @typedef {object} Figures
 * @property {number[]} first milliseconds of first pages
 * @property {number} cpu milliseconds of the service and the database for a first page
 * @property {number} found on the first page
 * @property {number} longest milliseconds of the longest page until the first match
 * @property {number} pages until the first match
 * @property {number} untilFound milliseconds until the first match, or the end
 */

/**
 * @param {string} url
 * @param {Record<string, string>} headers
 * @param {() => Promise<number>} used microseconds
 * @returns {Promise<Figures>}
 */
async function measure(url, headers, used) {
  const get = async (/** @type {string | null} */ cursor) => {
    const answer = await fetch(`${url}&limit=${limit}${cursor ? `&cursor=${cursor}` : ''}`, { headers });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${text}`);
    return JSON.parse(text);
  };
  let page = await get(null);
  const found = page.files.length;
  const before = await used();
  const first = [];
  for (let n = 0; n < times; n += 1) {
    const started = performance.now();
    await get(null);
    first.push(performance.now() - started);
  }
  const cpu = ((await used()) - before) / times / 1000;
  let pages = 1;
  const started = performance.now();
  page = await get(null);
  let longest = performance.now() - started;
  while (page.files.length === 0 && page.nextCursor) {
    const begun = performance.now();
    page = await get(page.nextCursor);
    longest = Math.max(longest, performance.now() - begun);
    pages += 1;
  }
  return { first, cpu, found, longest, pages, untilFound: performance.now() - started };
}

/**
 * @param {string} database
 * @param {Map<string, Map<string, Figures[]>>} figures by what was asked, and by side
 */
function print(database, figures) {
  console.log(`\n## first page of ${limit}, one at a time, ${database}`);
  /** @type {Map<string, number>} */
  const slowest = new Map();
  for (const [title, sides] of figures) {
    console.log(`  ${title}:`);
    for (const [side, all] of sides) {
      const first = all.flatMap((one) => one.first);
      slowest.set(side, Math.max(slowest.get(side) ?? 0, median(first)));
      const at = (/** @type {(one: Figures) => number} */ of) => median(all.map(of)).toFixed(0);
      console.log(
        `    ${side}: ${median(first).toFixed(0)} ms (up to ${Math.max(...first).toFixed(0)}), CPU ${at(({ cpu }) => cpu)} ms, ${at(({ found }) => found)} found; the first match after ${at(({ pages }) => pages)} pages and ${at(({ untilFound }) => untilFound)} ms, none of them over ${Math.max(...all.map(({ longest }) => longest)).toFixed(0)} ms`,
      );
    }
  }
  for (const [side, milliseconds] of slowest)
    console.log(`  the slowest first page, ${side}: ${milliseconds.toFixed(0)} ms (target ${targetMilliseconds})`);
}

/**
 * @param {import('./harness/databases.mjs').BenchDatabase} database
 * @param {Project[]} projects
 */
async function fill({ dataDir, url }, projects) {
  /** @type {import('../packages/server/dist/db/open.js').DatabaseSettings} */
  const settings = url ? { kind: 'postgres', url } : { kind: 'embedded', dataDir: `${dataDir}/database` };
  const db = await openDatabase(settings);
  try {
    await migrate(db.pool);
    const names = `('files_search_index', 'files_metadata_index')`;
    const { rows } = await db.pool.query(`select indexdef as sql from pg_indexes where indexname in ${names}`);
    await db.pool.query('drop index files_search_index; drop index files_metadata_index');
    for (const { projectId, folderId, count } of projects) {
      for (let from = 1; from <= count; from += atOnce)
        await db.pool.query(insertSql, [projectId, from, Math.min(count, from + atOnce - 1), folderId, count]);
    }
    // Building them afterwards takes a fraction of the time.
    for (const { sql } of rows) await db.pool.query(sql);
    // PostgreSQL eventually gathers statistics by itself; the embedded database never does, and must do without.
    if (db.kind === 'postgres') await db.pool.query('vacuum (analyze) files');
    await db.pool.query('checkpoint');
  } finally {
    await db.close();
  }
}
