import type pg from 'pg';
import { tables } from './tables.ts';

/** A restore is under way, or has left something out. */
export class NotWhole extends Error {
  override readonly name = 'NotWhole';

  constructor(found: string) {
    super(
      `The PostgreSQL database is not restored whole: ${found}. Wait for the end of the restore, or repeat it into an empty database with a command that stops at the first error.`,
    );
  }
}

/** Every table but the audit log has a primary key. */
const keyed = Object.keys(tables).filter((name) => name !== 'audit_events');

/**
 * Checks that the tables have their keys, which restores add after the rows, and that files are there if any are counted. Otherwise,
 * rows could be written that the keys would not allow, and objects whose files are still to come would be taken for left over.
 * @throws NotWhole
 */
export async function requireWhole(pool: pg.Pool): Promise<void> {
  const { rows: unkeyed } = await pool.query<{ name: string }>(
    `select name from unnest($1::text[]) as listed (name)
     where not exists (select 1 from pg_index where indrelid = name::regclass and indisprimary)
     order by name`,
    [keyed],
  );
  const [first] = unkeyed;
  if (first) throw new NotWhole(`tables lack their primary keys (${unkeyed.length}, such as ${first.name})`);
  const { rows: counted } = await pool.query<{ files: string | null }>(
    `select case when not exists (select 1 from files) then (select sum(file_count) from project_usage) end as files`,
  );
  const files = Number(counted[0]?.files ?? 0);
  if (files > 0) throw new NotWhole(`it counts ${files} files, and has none of them`);
}
