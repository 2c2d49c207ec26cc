// @ts-check
import pg from 'pg';

const atOnce = 100_000;

/**
 * Realistic names: cameras, screenshots, sentences, several scripts, and noise. Every tenth noise name is a
 * long hexadecimal one, so that a rare word can be derived for any row.
 */
const namesSql = `
  create or replace function bench_name(n bigint) returns text language sql immutable as $$
    select case n % 10
      when 0 then 'IMG_' || lpad((n * 7919 % 10000)::text, 4, '0') || ' ' || substr(md5(n::text), 1, 4) || '.jpg'
      when 1 then 'DSC' || lpad((n % 100000)::text, 5, '0') || '.NEF'
      when 2 then 'Screenshot 2026-' || lpad((1 + n % 12)::text, 2, '0') || '-' || lpad((1 + n / 12 % 28)::text, 2, '0') || ' ' || (n * 31 % 86400) || '.png'
      when 3 then 'Ferien am Meer ' || n || '.jpg'
      when 4 then '写真 ' || n || case when n % 100 = 4 then ' 東京' else ' 家族' end || '.heic'
      when 5 then 'invoice-' || substr(md5(n::text), 1, 8) || '.pdf'
      when 6 then 'видео ' || n || '.mp4'
      when 7 then md5(n::text) || '.bin'
      when 8 then 'Übersicht ' || substr(md5(n::text), 1, 5) || ' (final).docx'
      else 'IMG_20' || (10 + n % 17) || lpad((1 + n % 12)::text, 2, '0') || lpad((1 + n / 12 % 28)::text, 2, '0') || '_' || (n * 31 % 86400) || '.jpg'
    end $$`;

/** Every tenth name of each kind is in the folder. Ids are UUIDs v7, a millisecond apart. */
const rowsSql = `
  insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag, created_at, updated_at)
  select $1::uuid, (substr(t, 1, 8) || '-' || substr(t, 9) || '-7' || substr(h, 1, 3) || '-8' || substr(h, 4, 3) || '-' || substr(h, 7, 12))::uuid,
         $1::uuid::text || '/' || ms || lpad((n % 1000000)::text, 6, '0') || '-' || name, name, upper(name),
         ('x' || substr(h, 25, 6))::bit(24)::int, 'image/jpeg', case when n / 10 % 10 = 3 then $4::uuid end, h,
         to_timestamp(ms / 1000.0), to_timestamp(ms / 1000.0)
  from (select n, 1790000000000 + n as ms, lpad(to_hex(1790000000000 + n), 12, '0') as t, md5(n::text) as h, bench_name(n) as name
        from generate_series($2::bigint, $3::bigint) n) rows`;

/**
 * Fills projects, a tenth of each into its folder. Keys, references and indexes are dropped first and rebuilt
 * afterwards, which takes a fraction of the time.
 * @param {string} url
 * @param {{ projectId: string, folderId: string, count: number, first?: number }[]} projects `count`: the number of the last file; `first`: of the first, 1 by default
 */
export async function fillLibrary(url, projects) {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const started = performance.now();
  const say = (/** @type {string} */ what) =>
    console.log(`  ${((performance.now() - started) / 1000).toFixed(0)} s: ${what}`);
  await pool.query(namesSql);
  const restore = await takeDown(pool);
  for (const { projectId, folderId, count, first = 1 } of projects) {
    const starts = Array.from(
      { length: Math.ceil((count + 1 - first) / atOnce) },
      (_, index) => index * atOnce + first,
    );
    const work = async () => {
      for (let from = starts.shift(); from !== undefined; from = starts.shift()) {
        await pool.query(rowsSql, [projectId, from, Math.min(count, from + atOnce - 1), folderId]);
      }
    };
    await Promise.all([work(), work()]);
    say(`${count} rows`);
  }
  for (const sql of restore) {
    await pool.query(sql);
    say(sql.slice(0, 90));
  }
  await pool.query('vacuum (analyze) files');
  await pool.query('checkpoint');
  say('vacuumed');
  await pool.end();
}

/**
 * Adds rows one by one, as recordings do, numbered on from `from`.
 * @param {string} url
 * @param {string} projectId
 * @param {number} from
 * @param {number} count
 */
export async function recordMore(url, projectId, from, count) {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  let next = from;
  const work = async () => {
    while (next < from + count) {
      const n = next;
      next += 1;
      await pool.query({ name: 'record-more', text: rowsSql, values: [projectId, n, n, null] });
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  await pool.end();
}

/**
 * @param {pg.Pool} pool
 * @returns {Promise<string[]>} the statements that bring back what was dropped
 */
async function takeDown(pool) {
  const { rows: constraints } = await pool.query(
    `select conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
     where conrelid = 'files'::regclass and contype in ('p', 'u', 'f') order by array_position(array['f','p','u']::"char"[], contype)`,
  );
  for (const { name } of constraints) await pool.query(`alter table files drop constraint ${name} cascade`);
  const { rows: indexes } = await pool.query(
    `select indexname as name, indexdef as definition from pg_indexes where tablename = 'files' order by 1`,
  );
  for (const { name } of indexes) await pool.query(`drop index ${name}`);
  return [
    ...constraints.map(({ name, definition }) => `alter table files add constraint ${name} ${definition}`).reverse(),
    ...indexes.map(({ definition }) => definition),
  ];
}
