/** One field of a public shape: its column, and its value as the database writes it into JSON and as this code does. */
export interface Field<Row, Column extends keyof Row, Value> {
  column: Column;
  /** An expression for the value as JSON text, without the quotes if `isQuoted`. Never null. */
  sql: string;
  isQuoted: boolean;
  read(row: Pick<Row, Column>): Value;
}

type Fields<Row> = Readonly<Record<string, Field<Row, keyof Row, unknown>>>;

/** The columns behind the fields of a shape. */
export type RowOf<Row, F extends Fields<Row>> = Pick<Row, F[keyof F]['column']>;

type ColumnsOf<Row, Value> = { [C in keyof Row]-?: Row[C] extends Value ? C : never }[keyof Row] & string;

/** For a value that JSON holds unescaped. */
const quotedOrNull = (value: string) => `coalesce('"' || ${value} || '"', 'null')`;

/**
 * The kinds of fields that a table's columns can become. Each writes its own JSON: PostgreSQL's functions for any type
 * look up the type of each value, which takes longer than writing it.
 */
export function fieldsOf<Row>() {
  const asIs = <C extends keyof Row & string>(column: C, sql: string, isQuoted: boolean): Field<Row, C, Row[C]> => ({
    column,
    sql,
    isQuoted,
    read: (row) => row[column],
  });
  return {
    /** A text that JSON holds unescaped: an id, or a word of our own. */
    plain: <C extends ColumnsOf<Row, string>>(column: C) => asIs(column, column, true),
    plainOrNull: <C extends ColumnsOf<Row, string | null>>(column: C) => asIs(column, quotedOrNull(column), false),
    /** A text with any characters. */
    text: <C extends ColumnsOf<Row, string>>(column: C) => asIs(column, `to_json(${column})`, false),
    textOrNull: <C extends ColumnsOf<Row, string | null>>(column: C) =>
      asIs(column, `coalesce(to_json(${column}), 'null')`, false),
    number: <C extends ColumnsOf<Row, number>>(column: C) => asIs(column, column, false),
    /** A timestamp as ISO 8601 in UTC with milliseconds. */
    time: <C extends ColumnsOf<Row, Date>>(column: C): Field<Row, C, string> => ({
      column,
      sql: `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
      isQuoted: true,
      read: (row) => (row[column] as Date).toISOString(),
    }),
    /** The JSON of an object, as it was written; `{}` for null. */
    json: <C extends ColumnsOf<Row, object | null>>(column: C): Field<Row, C, NonNullable<Row[C]>> => ({
      column,
      sql: `coalesce(${column}::text, '{}')`,
      isQuoted: false,
      read: (row) => row[column] ?? ({} as NonNullable<Row[C]>),
    }),
    /** Bytes as hexadecimal digits. */
    hexOrNull: <C extends ColumnsOf<Row, Buffer | null>>(column: C): Field<Row, C, string | null> => ({
      column,
      sql: quotedOrNull(`encode(${column}, 'hex')`),
      isQuoted: false,
      read: (row) => (row[column] as Buffer | null)?.toString('hex') ?? null,
    }),
  };
}

/** An expression for the shape as JSON text. */
export function toJsonText<Row>(fields: Fields<Row>): string {
  const parts: string[] = [];
  let literal = '{';
  for (const [name, { sql, isQuoted }] of Object.entries(fields)) {
    const quote = isQuoted ? '"' : '';
    parts.push(`'${literal}"${name}":${quote}'`, sql);
    literal = `${quote},`;
  }
  return `concat(${parts.join(', ')}, '${literal.slice(0, -1)}}')`;
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
