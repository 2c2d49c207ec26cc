// @ts-check
import { migrate } from '../../packages/server/dist/db/migrate.js';
import { openDatabase } from '../../packages/server/dist/db/open.js';

const atOnce = 50_000;

/** Rows as `record` writes them; ids are UUIDs v7 a millisecond apart, so that they sort as they would have been recorded. */
const insertSql = `
  insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag, created_at, updated_at)
  select $1::uuid, (substr(t, 1, 8) || '-' || substr(t, 9) || '-7' || substr(h, 1, 3) || '-8' || substr(h, 4, 3) || '-' || substr(h, 7, 12))::uuid,
         $1::uuid::text || '/' || ms || lpad((n % 1000000)::text, 6, '0') || '-' || $5::text || ' ' || n || '.jpg',
         $5::text || ' ' || n || '.jpg', upper($5) || ' ' || n || '.JPG', 100000 + n, $6::text, $4, h, to_timestamp(ms / 1000.0), to_timestamp(ms / 1000.0)
  from (select n, 1790000000000 + n as ms, lpad(to_hex(1790000000000 + n), 12, '0') as t, md5(n::text) as h
        from generate_series($2::bigint, $3::bigint) n) rows`;

/**
 * Fills projects with files by SQL, while no service has the database open.
 * @param {import('./databases.mjs').BenchDatabase} database
 * @param {{ projectId: string, count: number, folderId?: string, first?: number, words?: string, mimeType?: string }[]} places
 *   `first`: the number of the first file, by default 1; `words`: what the names begin with
 */
export async function insertFiles({ dataDir, url }, places) {
  /** @type {import('../../packages/server/dist/db/open.js').DatabaseSettings} */
  const settings = url ? { kind: 'postgres', url } : { kind: 'embedded', dataDir: `${dataDir}/database` };
  const db = await openDatabase(settings);
  try {
    await migrate(db.pool);
    for (const {
      projectId,
      count,
      folderId = null,
      first = 1,
      words = 'Ferien am Meer',
      mimeType = 'image/jpeg',
    } of places) {
      const end = first + count - 1;
      for (let from = first; from <= end; from += atOnce) {
        await db.pool.query(insertSql, [projectId, from, Math.min(end, from + atOnce - 1), folderId, words, mimeType]);
      }
    }
    // As autovacuum does on PostgreSQL within a minute, and the service itself in the embedded database.
    await db.pool.query('vacuum (analyze) files');
    await db.pool.query('checkpoint');
  } finally {
    await db.close();
  }
}
