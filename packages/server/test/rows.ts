import type { Database } from '../src/db/open.ts';

/** The tables of the database, except that of the migrations, with their columns. */
export async function readColumns({ pool }: Database): Promise<Map<string, string[]>> {
  const { rows } = await pool.query<{ table: string; columns: string[] }>(
    `select c.relname as table, array_agg(a.attname::text order by a.attnum) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relname <> 'cadiz_migrations'
     group by 1 order by 1`,
  );
  return new Map(rows.map(({ table, columns }) => [table, columns]));
}

/** All rows of these tables, or those of one project, as one string each. */
export async function readRows(
  { pool }: Database,
  tables: Iterable<string>,
  projectId?: string,
): Promise<Record<string, string>> {
  const of = projectId === undefined ? '' : 'where t.project_id = $1';
  const one = (table: string) =>
    `(select coalesce(string_agg(t::text, E'\\n' order by t::text collate "C"), '') from ${table} t ${of}) as ${table}`;
  const text = `select ${[...tables].map(one).join(', ')}`;
  const { rows } = await pool.query<Record<string, string>>(text, projectId === undefined ? [] : [projectId]);
  return rows[0] ?? {};
}
