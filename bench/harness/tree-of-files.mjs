// @ts-check
import { migrate } from '../../packages/server/dist/db/migrate.js';
import { openDatabase } from '../../packages/server/dist/db/open.js';

const atOnce = 50_000;

/** A UUID v7 made from the millisecond `ms` and the hash `h`, as SQL. */
const idSql = `(substr(lpad(to_hex(ms), 12, '0'), 1, 8) || '-' || substr(lpad(to_hex(ms), 12, '0'), 9) || '-7'
  || substr(h, 1, 3) || '-8' || substr(h, 4, 3) || '-' || substr(h, 7, 12))::uuid`;

/** Ten folders in each, breadth first, so that a thousand make four levels. */
const foldersSql = `
  with numbered as (
    select n, ${idSql} as id from (
      select n, 1780000000000 + n as ms, md5($1::text || n) as h from generate_series(1, $2::bigint) n
    ) seeds
  )
  insert into folders (project_id, id, parent_id, name, name_key)
  select $1::uuid, child.id, parent.id, 'Ordner ' || child.n, 'ORDNER ' || child.n
  from numbered child left join numbered parent on parent.n = (child.n + 8) / 10 and child.n > 1
  order by child.n
  returning id`;

/** Consecutive files go into different folders, so that the files of a folder are as far apart as possible. */
const filesSql = `
  insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag)
  select $1::uuid, ${idSql}, $1::uuid::text || '/' || ms || lpad((n % 1000000)::text, 6, '0') || '-Bild ' || n || '.jpg',
         'Bild ' || n || '.jpg', 'BILD ' || n || '.JPG', 100000 + n, 'image/jpeg', ($4::uuid[])[1 + n % cardinality($4::uuid[])], h
  from (select n, 1790000000000 + n as ms, md5(n::text) as h from generate_series($2::bigint, $3::bigint) n) seeds`;

/**
 * Fills each project with a tree of folders and files by SQL, while no service has the database open.
 * @param {import('./databases.mjs').BenchDatabase} database
 * @param {{ projectId: string, files: number, folders: number }[]} trees
 * @returns {Promise<string[]>} the outermost folder of each
 */
export async function insertTrees({ dataDir, url, name }, trees) {
  /** @type {import('../../packages/server/dist/db/open.js').DatabaseSettings} */
  const settings = url ? { kind: 'postgres', url } : { kind: 'embedded', dataDir: `${dataDir}/database` };
  const db = await openDatabase(settings);
  const started = performance.now();
  const roots = [];
  try {
    await migrate(db.pool);
    for (const { projectId, files, folders } of trees) {
      const { rows } = await db.pool.query(foldersSql, [projectId, folders]);
      const ids = rows.map(({ id }) => id);
      roots.push(ids[0]);
      for (let from = 1; from <= files; from += atOnce) {
        await db.pool.query(filesSql, [projectId, from, Math.min(files, from + atOnce - 1), ids]);
      }
    }
    // PostgreSQL eventually does this by itself; the embedded database never does, and must do without.
    if (db.kind === 'postgres') await db.pool.query('vacuum (analyze) files, folders');
    await db.pool.query('checkpoint');
  } finally {
    await db.close();
  }
  console.log(`\n${name}: rows inserted in ${((performance.now() - started) / 1000).toFixed(0)} s`);
  return roots;
}
