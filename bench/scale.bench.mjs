// @ts-check
// What a file costs as a project grows, on a PostgreSQL of its own that flushes to disk: bytes of its row and of each index, what a recording writes
// (of the write-ahead log, with and without images of pages; in tables other than files), and how long pages, searches and counts take. At the
// end, what follows for 100 million and a billion files. BENCH_FILES names the sizes, 1000000,5000000,20000000 by default; sizes for
// which the disk has no room are left out with a line. BENCH_PLOTS=docs/plots draws the figures.
import { statfs } from 'node:fs/promises';
import pg from 'pg';
import { bench } from './harness/cleanup.mjs';
import { describeMachine, median, quick } from './harness/compare.mjs';
import { fillLibrary } from './harness/fill-library.mjs';
import { openKeptPostgres } from './harness/kept-postgres.mjs';
import { plot } from './harness/plot.mjs';
import { post, signUp, startService } from './harness/service.mjs';

const sizes = (process.env.BENCH_FILES ?? (quick ? '2000,10000' : '1000000,5000000,20000000')).split(',').map(Number);
const records = quick ? 200 : 4000;
const samples = quick ? 5 : 30;
const atOnce = 8;
/** The files, their indexes, what sorting them takes, and the write-ahead log. */
const roomForFile = 2200;
const projected = [1e8, 1e9];
/** Indexes of fewer bytes a file are not drawn: they have entries for few files. */
const smallPart = 5;

/**
 * @typedef {object} Figures
 * @property {number} files
 * @property {Map<string, number>} bytes of a file, by table and index
 * @property {Recorded} fresh right after a checkpoint, when each page that is written for the first time is written whole
 * @property {Recorded} later
 * @property {number} recordings a second
 * @property {Map<string, number>} otherTables bytes of a recording outside of files
 * @property {Map<string, number>} milliseconds medians
 */
/** @typedef {{ wal: number, images: number, records: number }} Recorded bytes, images of pages, and records of the log for one recording */

await bench(async () => {
  describeMachine();
  const postgres = await openKeptPostgres();
  if (postgres.isFilled) throw new Error('BENCH_KEEP names a library that is filled; this benchmark fills its own');
  const database = { name: 'PostgreSQL', dataDir: `${postgres.folder}/service`, url: postgres.url };
  const started = await startService(database);
  const { projectIds, authorization } = await signUp(started.url, ['Large']);
  const projectId = projectIds[0] ?? '';
  const folder = { projectId, name: 'Folder', parentId: null };
  const { id: folderId } = await post(`${started.url}/api/storage/folders`, folder, { authorization });
  await started.stop();

  /** @type {Figures[]} */
  const all = [];
  let filled = 0;
  for (const files of sizes) {
    const { bavail, bsize } = await statfs(postgres.folder);
    if (bavail * bsize < files * roomForFile) {
      console.log(`\nLeft out: ${files} files, since the disk has only ${toGigabytes(bavail * bsize)} GB.`);
      continue;
    }
    console.log(`\n## ${files} files`);
    postgres.fill();
    await fillLibrary(postgres.url, [{ projectId, folderId, count: files, first: filled + 1 }]);
    filled = files;
    postgres.serve();
    const db = new pg.Client({ connectionString: postgres.url });
    await db.connect();
    const service = await startService(database);
    const library = { db, url: service.url, authorization, projectId, folderId };
    const bytes = await measureBytes(db, files);
    const milliseconds = await measureTimes(library);
    const figures = { files, bytes, milliseconds, ...(await measureRecordings(library)) };
    await service.stop();
    await db.end();
    print(figures);
    all.push(figures);
  }
  const last = all.at(-1);
  if (!last) return;
  for (const files of projected) project(last, files);
  await draw(all);
});

/** @typedef {{ db: pg.Client, url: string, authorization: string, projectId: string, folderId: string }} Library */

/**
 * @param {pg.Client} db
 * @param {number} files
 * @returns {Promise<Map<string, number>>} bytes of a file: of its row, and of each index, the largest first
 */
async function measureBytes(db, files) {
  const { rows } = await db.query(
    `select 'row' as name, pg_table_size('files')::float8 as bytes
     union all select indexrelid::regclass::text, pg_relation_size(indexrelid) from pg_index where indrelid = 'files'::regclass order by 2 desc`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, bytes / files]));
}

/**
 * @param {Library} library
 * @returns {Promise<Map<string, number>>}
 */
async function measureTimes({ url, authorization, projectId, folderId }) {
  const headers = { authorization };
  const list = (/** @type {Record<string, string>} */ query) => async () => {
    const answer = await fetch(
      `${url}/api/storage/list?${new URLSearchParams({ projectId, limit: '100', ...query })}`,
      { headers },
    );
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`list: ${answer.status} ${text}`);
  };
  const count = { projectId, action: 'delete', folderIds: [folderId], dryRun: true };
  /** @type {[string, () => Promise<unknown>][]} */
  const asked = [
    ['newest page', list({ sort: 'createdAt', order: 'desc' })],
    ['page by name', list({ sort: 'name', order: 'asc' })],
    ['rare word', list({ search: 'kolibri' })],
    ['frequent word', list({ search: 'img_' })],
    ['count of a tenth', () => post(`${url}/api/storage/bulk`, count, headers)],
  ];
  const milliseconds = new Map();
  for (const [what, ask] of asked) {
    const times = [];
    for (let n = -2; n < samples; n += 1) {
      const started = performance.now();
      await ask();
      if (n >= 0) times.push(performance.now() - started);
    }
    milliseconds.set(what, median(times));
  }
  return milliseconds;
}

/**
 * @param {Library} library
 * @returns {Promise<Pick<Figures, 'fresh' | 'later' | 'recordings' | 'otherTables'>>}
 */
async function measureRecordings(library) {
  const { db } = library;
  await record(library, atOnce);
  const before = await tableSizes(db);
  await db.query('checkpoint');
  const start = await readLog(db);
  await record(library, records);
  const middle = await readLog(db);
  const began = performance.now();
  await record(library, records);
  const recordings = records / ((performance.now() - began) / 1000);
  const end = await readLog(db);
  const after = await tableSizes(db);
  const otherTables = new Map();
  for (const [name, bytes] of after) {
    const grown = (bytes - (before.get(name) ?? 0)) / (2 * records);
    // Events are numbered within a second, and gone from new_events then.
    if (name !== 'files' && name !== 'new_events' && grown >= 1) otherTables.set(name, grown);
  }
  return { fresh: difference(start, middle), later: difference(middle, end), recordings, otherTables };
}

/**
 * Uploads and records small files with names as people give them.
 * @param {Library} library
 * @param {number} count
 */
async function record({ db, url, authorization, projectId }, count) {
  let left = count;
  const some = async () => {
    while (left > 0) {
      left -= 1;
      const noise = crypto.randomUUID();
      const fileName = [
        `IMG_${noise.slice(0, 8)}.jpg`,
        `Ferien am Meer ${noise.slice(0, 4)}.jpg`,
        `写真 ${noise.slice(0, 6)}.heic`,
      ][left % 3];
      const file = { projectId, fileName, mimeType: 'text/plain', fileSize: 64, folderId: null };
      const { presignedUrl, storeKey } = await post(`${url}/api/storage/presign`, file, { authorization });
      const put = await fetch(presignedUrl, { method: 'PUT', body: Buffer.alloc(64, 'a') });
      if (put.status !== 200) throw new Error(`upload: ${put.status} ${await put.text()}`);
      await put.arrayBuffer();
      await post(`${url}/api/storage/record`, { ...file, storeKey }, { authorization });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, some));
  // Filled rows are never looked at, for nothing asked for it.
  const pending = `select from files where project_id = $1 and file_size = 64 and content_check = 'pending' and created_at > now() - interval '1 hour' limit 1`;
  while ((await db.query(pending, [projectId])).rowCount) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** @param {pg.Client} db */
async function readLog(db) {
  // A connection that is idle reports what it wrote within ten seconds.
  await new Promise((resolve) => setTimeout(resolve, 11_000));
  const { rows } = await db.query(
    'select wal_bytes::float8 as wal, wal_fpi::float8 as images, wal_records::float8 as records from pg_stat_wal',
  );
  return /** @type {Recorded} */ (rows[0]);
}

/**
 * @param {Recorded} from
 * @param {Recorded} to
 * @returns {Recorded} for each recording
 */
function difference(from, to) {
  const each = (/** @type {keyof Recorded} */ key) => (to[key] - from[key]) / records;
  return { wal: each('wal'), images: each('images'), records: each('records') };
}

/**
 * @param {pg.Client} db
 * @returns {Promise<Map<string, number>>} bytes, with indexes
 */
async function tableSizes(db) {
  const { rows } = await db.query(
    `select relname as name, pg_total_relation_size(oid)::float8 as bytes from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}

/** @param {Figures} figures */
function print({ bytes, fresh, later, recordings, otherTables, milliseconds }) {
  const toText = (/** @type {Map<string, number>} */ map, /** @type {number} */ digits) =>
    [...map].map(([name, value]) => `${name} ${value.toFixed(digits)}`).join(', ');
  const indexes = sum(bytes) - (bytes.get('row') ?? 0);
  console.log(
    `  bytes of a file: ${sum(bytes).toFixed(0)}, of which indexes ${indexes.toFixed(0)} (${toText(bytes, 0)})`,
  );
  console.log(`  and in other tables, for each recording: ${toText(otherTables, 0)}`);
  for (const [when, { wal, images, records: ofLog }] of Object.entries({ 'right after a checkpoint': fresh, later })) {
    console.log(
      `  a recording writes ${(wal / 1000).toFixed(1)} kB of WAL ${when}: ${ofLog.toFixed(1)} records, ${images.toFixed(2)} images of pages`,
    );
  }
  console.log(`  ${recordings.toFixed(0)} whole uploads a second, ${atOnce} at once`);
  console.log(`  milliseconds: ${toText(milliseconds, 1)}`);
}

/**
 * What would follow if each file cost what it costs at the largest size that was measured; B-trees that grow in random order are filled to 70 %.
 * @param {Figures} figures
 * @param {number} files
 */
function project({ files: measured, bytes, otherTables, fresh, later, milliseconds }, files) {
  const row = bytes.get('row') ?? 0;
  const indexes = (sum(bytes) - row) / 0.7;
  const count = ((milliseconds.get('count of a tenth') ?? 0) / measured) * files;
  console.log(`\n## ${files} files, from the figures of ${measured}`);
  console.log(`  ${toGigabytes(files * row)} GB of rows, ${toGigabytes(files * indexes)} GB of indexes`);
  // What other tables keep is mostly events, which are removed after EVENT_RETENTION_DAYS.
  console.log(
    `  1000 recordings a second: ${(later.wal / 1000).toFixed(1)} to ${(fresh.wal / 1000).toFixed(1)} MB of WAL a second, ${toGigabytes(sum(otherTables) * 1000 * 86_400)} GB a day in other tables`,
  );
  console.log(`  counting a tenth of them: ${(count / 1000).toFixed(1)} s`);
}

/** @param {Figures[]} all */
async function draw(all) {
  const categories = all.map(({ files }) => toCount(files));
  const last = all.at(-1);
  if (!last) return;
  const parts = [...last.bytes].filter(([, bytes]) => bytes >= smallPart);
  await plot('scale-bytes', {
    title: `Bytes of a file in PostgreSQL, of ${toCount(last.files)}: ${sum(last.bytes).toFixed(0)} in all`,
    categories: parts.map(([name]) => name),
    series: [{ name: 'bytes', values: parts.map(([, bytes]) => bytes) }],
    kind: 'rows',
  });
  await plot('scale-record', {
    title: 'Write-ahead log of a recording (kB), by the number of files',
    categories,
    series: [
      { name: 'right after a checkpoint', values: all.map(({ fresh }) => fresh.wal / 1000) },
      { name: 'later', values: all.map(({ later }) => later.wal / 1000) },
    ],
  });
  await plot('scale-times', {
    title: 'Milliseconds, by the number of files in the project',
    categories,
    series: [...(all[0]?.milliseconds.keys() ?? [])].map((name) => ({
      name,
      values: all.map(({ milliseconds }) => milliseconds.get(name) ?? 0),
    })),
    kind: 'lines',
    isLogarithmic: true,
  });
}

/** @param {number} files */
function toCount(files) {
  return files >= 1e6 ? `${files / 1e6} million` : `${files}`;
}

/** @param {Map<string, number>} map */
function sum(map) {
  return [...map.values()].reduce((total, value) => total + value, 0);
}

/** @param {number} bytes */
function toGigabytes(bytes) {
  return (bytes / 1e9).toFixed(0);
}
