import type pg from 'pg';
import { tables } from './tables.ts';

/** The user of the database has not all rights on its tables. */
export class RightsMissing extends Error {
  override readonly name = 'RightsMissing';

  constructor(names: readonly string[]) {
    super(
      `The PostgreSQL user is not allowed to read and write everything in these tables: ${names.join(', ')}. Make it their owner, or grant it select, insert, update and delete, also by default on what the owner creates later, and disable their row-level security.`,
    );
  }
}

/**
 * Checks that the user of the database can read and write every table. A user without the right to change the schema does not
 * get rights on the table of a later migration by itself, and the service would fail only where it needs that table. Where row-level
 * security applies to the user, rows can be missing.
 * @throws RightsMissing
 */
export async function requireRights(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    `select name from unnest($1::text[]) as listed (name)
     where row_security_active(name)
       or exists (select 1 from unnest(array['select', 'insert', 'update', 'delete']) as needed (privilege)
                  where not has_table_privilege(name, privilege))
     order by name`,
    [Object.keys(tables)],
  );
  if (rows.length > 0) throw new RightsMissing(rows.map(({ name }) => name));
}
