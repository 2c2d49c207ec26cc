import type pg from 'pg';
import { toLine } from './copy-text.ts';
import { type Applied, readApplied, withoutTimeouts } from './migrate.ts';

export interface Sequence {
  table: string;
  column: string;
  /** The number that the next row gets. */
  next: number;
}

/** A database at one moment. */
export interface TableReader {
  /** The migrations that it has, in their order. */
  migrations: Applied[];
  sequences: Sequence[];
  /** The columns of a table that are stored and not computed from others. */
  columns(table: string): Promise<string[]>;
  /** The rows of a table as lines of COPY's text format, some at a time. */
  lines(table: string, columns: readonly string[]): AsyncGenerator<string[]>;
}

const rowsAtOnce = 1_000;

/** Values are written the same way whatever the settings of the role, the database or the server. */
const textSettings = `set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres'; set local timezone = 'UTC';
  set local bytea_output = 'hex'; set local extra_float_digits = 1`;

/** Reads tables as they are at one moment, in one transaction that blocks nobody on PostgreSQL and changes nothing. */
export async function readTables<T>(pool: pg.Pool, work: (reader: TableReader) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    // A slow disk may keep the transaction open, and idle between two batches, for any length of time.
    await client.query(withoutTimeouts);
    await client.query(textSettings);
    const result = await work({
      migrations: await readApplied(client),
      sequences: await readSequences(client),
      columns: (table) => readColumns(client, table),
      lines: (table, columns) => readLines(client, table, columns),
    });
    await client.query('commit');
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

async function readColumns(client: pg.PoolClient, table: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = to_regclass($1) and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [table],
  );
  return rows.map(({ name }) => name);
}

async function readSequences(client: pg.PoolClient): Promise<Sequence[]> {
  const { rows } = await client.query<{ table: string; column: string; sequence: string }>(
    `select relname as table, attname as column, pg_get_serial_sequence(quote_ident(relname), attname) as sequence
     from pg_attribute join pg_class on pg_class.oid = attrelid
     where relnamespace = quote_ident(current_schema())::regnamespace and attidentity <> '' order by 1, 2`,
  );
  const sequences: Sequence[] = [];
  for (const { table, column, sequence } of rows) {
    // Sequences know no transactions, so this one is at least as far as the rows of this moment.
    const { rows: states } = await client.query<{ next: number }>(
      `select case when is_called then last_value + 1 else last_value end as next from ${sequence}`,
    );
    sequences.push({ table, column, next: states[0]?.next ?? 1 });
  }
  return sequences;
}

/** A cursor, so that neither side holds more than a batch. The texts are those that COPY would write. */
async function* readLines(client: pg.PoolClient, table: string, columns: readonly string[]): AsyncGenerator<string[]> {
  const names = columns.map((name) => client.escapeIdentifier(name)).join(', ');
  await client.query(`declare rows no scroll cursor for select ${names} from ${client.escapeIdentifier(table)}`);
  for (;;) {
    const { rows } = await client.query<(string | null)[]>({
      text: `fetch ${rowsAtOnce} from rows`,
      rowMode: 'array',
      types: { getTypeParser: () => (text: string) => text },
    });
    if (rows.length === 0) break;
    yield rows.map(toLine);
  }
  await client.query('close rows');
}
