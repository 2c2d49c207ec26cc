import type pg from 'pg';
import { fromLine } from './copy-text.ts';
import { type Applied, migrateInto, withoutTimeouts } from './migrate.ts';
import type { Sequence } from './read-tables.ts';

/** The tables of a backup, and the schema that they had. */
export interface TableSource {
  migrations: readonly Applied[];
  sequences: readonly Sequence[];
  tables: readonly { name: string; columns: readonly string[] }[];
  /** The lines of a table, some at a time. */
  lines(table: string): AsyncIterable<readonly string[]>;
}

/** The database has tables already. */
export class DatabaseNotEmpty extends Error {
  override readonly name = 'DatabaseNotEmpty';
}

/**
 * Fills an empty database, in one transaction: the schema as it was, the rows, and the migrations since.
 * @throws DatabaseNotEmpty, MigrationMismatch
 */
export async function writeTables(pool: pg.Pool, source: TableSource): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(withoutTimeouts);
    await requireEmpty(client);
    await migrateInto(client, source.migrations);
    const keys = await deferForeignKeys(client);
    for (const table of source.tables) await fill(client, table, source.lines(table.name));
    for (const { table, column, next } of source.sequences) {
      await client.query(`select setval(pg_get_serial_sequence(quote_ident($1), $2), $3, false)`, [
        table,
        column,
        next,
      ]);
    }
    await client.query('set constraints all immediate');
    for (const { table, name } of keys)
      await client.query(`alter table ${table} alter constraint ${name} not deferrable`);
    await migrateInto(client);
    await client.query('commit');
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/** @throws DatabaseNotEmpty */
export async function requireEmpty(client: Pick<pg.PoolClient, 'query'>): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = quote_ident(current_schema())::regnamespace order by 1 limit 1`,
  );
  if (rows.length === 0) return;
  throw new DatabaseNotEmpty('The database is not empty, and a backup is restored into an empty one only.');
}

/** Rows refer to others that come later, in their own table as well. */
async function deferForeignKeys(client: pg.PoolClient): Promise<{ table: string; name: string }[]> {
  const { rows } = await client.query<{ table: string; name: string }>(
    `select conrelid::regclass::text as table, quote_ident(conname) as name from pg_constraint
     where contype = 'f' and not condeferrable and connamespace = quote_ident(current_schema())::regnamespace`,
  );
  for (const { table, name } of rows) {
    await client.query(`alter table ${table} alter constraint ${name} deferrable initially deferred`);
  }
  return rows;
}

async function fill(
  client: pg.PoolClient,
  { name, columns }: { name: string; columns: readonly string[] },
  batches: AsyncIterable<readonly string[]>,
): Promise<void> {
  const table = client.escapeIdentifier(name);
  const types = await readTypes(client, name);
  const names = columns.map((column) => client.escapeIdentifier(column));
  const values = columns.map((column, index) => `c${index}::${types.get(column) ?? 'text'}`);
  const parameters = columns.map((_, index) => `$${index + 1}::text[]`);
  const statement = `insert into ${table} (${names.join(', ')}) overriding system value
    select ${values.join(', ')} from unnest(${parameters.join(', ')}) as t(${columns.map((_, index) => `c${index}`).join(', ')})`;
  // Migrations insert rows of their own.
  await client.query(`delete from ${table}`);
  for await (const lines of batches) {
    const rows = lines.map(fromLine);
    await client.query(
      statement,
      columns.map((_, index) => rows.map((row) => row[index] ?? null)),
    );
  }
}

async function readTypes(client: pg.PoolClient, table: string): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = to_regclass($1) and attnum > 0 and not attisdropped`,
    [table],
  );
  return new Map(rows.map(({ name, type }) => [name, type]));
}
