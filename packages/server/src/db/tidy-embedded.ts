import type { Database } from './open.ts';

/**
 * Vacuums and analyzes each table that has changed enough since the last time, by the thresholds of PostgreSQL's
 * autovacuum, which the embedded database lacks. Without this, deleted rows would keep their space for ever, and plans
 * would be made without statistics. On PostgreSQL there is nothing to do.
 * @see https://www.postgresql.org/docs/current/routine-vacuuming.html#AUTOVACUUM
 * @returns the tables that were tidied
 */
export async function tidyEmbedded(
  { kind, pool }: Pick<Database, 'kind' | 'pool'>,
  signal: AbortSignal,
): Promise<string[]> {
  if (kind !== 'embedded') return [];
  // PostgreSQL writes its counters with a delay unless told to flush them.
  await pool.query('select pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ table: string }>(
    `select quote_ident(schemaname) || '.' || quote_ident(stats.relname) as table
     from pg_stat_user_tables stats join pg_class on pg_class.oid = stats.relid
     where n_dead_tup > 50 + 0.2 * greatest(reltuples, 0)
        or n_ins_since_vacuum > 1000 + 0.2 * greatest(reltuples, 0)
        or n_mod_since_analyze > 50 + 0.1 * greatest(reltuples, 0)
     order by 1`,
  );
  for (const { table } of rows) {
    signal.throwIfAborted();
    // One table at a time, so that requests can run in between.
    await pool.query(`vacuum (analyze) ${table}`);
  }
  return rows.map(({ table }) => table);
}
