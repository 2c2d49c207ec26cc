/** One field of a public shape: its column, and its value as the database writes it into JSON and as this code does. */
export interface Field<Row, Column extends keyof Row, Value> {
  column: Column;
  sql: string;
  read(row: Pick<Row, Column>): Value;
}

type Fields<Row> = Readonly<Record<string, Field<Row, keyof Row, unknown>>>;

/** The columns behind the fields of a shape. */
export type RowOf<Row, F extends Fields<Row>> = Pick<Row, F[keyof F]['column']>;

type ColumnsOf<Row, Value> = { [C in keyof Row]-?: Row[C] extends Value ? C : never }[keyof Row] & string;

/** The kinds of fields that a table's columns can become. */
export function fieldsOf<Row>() {
  return {
    /** The value unchanged. */
    plain: <C extends keyof Row & string>(column: C): Field<Row, C, Row[C]> => ({
      column,
      sql: column,
      read: (row) => row[column],
    }),
    /** A timestamp as ISO 8601 in UTC with milliseconds. */
    time: <C extends ColumnsOf<Row, Date>>(column: C): Field<Row, C, string> => ({
      column,
      sql: `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
      read: (row) => (row[column] as Date).toISOString(),
    }),
    /** Bytes as hexadecimal digits. */
    hex: <C extends ColumnsOf<Row, Buffer | null>>(column: C): Field<Row, C, string | null> => ({
      column,
      sql: `encode(${column}, 'hex')`,
      read: (row) => (row[column] as Buffer | null)?.toString('hex') ?? null,
    }),
  };
}

/** The select list that makes this shape, for `row_to_json`. */
export function toSelectList<Row>(fields: Fields<Row>): string {
  return Object.entries(fields)
    .map(([name, { sql }]) => `${sql} as "${name}"`)
    .join(', ');
}

/** Builds the same shape from a row. */
export function toView<Row, F extends Fields<Row>>(
  fields: F,
  row: RowOf<Row, F>,
): { [K in keyof F]: F[K] extends Field<Row, keyof Row, infer V> ? V : never } {
  const view: Record<string, unknown> = {};
  for (const name in fields) view[name] = fields[name]?.read(row as never);
  return view as never;
}
