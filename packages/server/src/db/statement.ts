import { createHash } from 'node:crypto';
import type pg from 'pg';

interface Compiled {
  /** PostgreSQL uses the first 63 characters. */
  name: string;
  text: string;
  parameters: readonly string[];
}

const compiled = new Map<string, Compiled>();
const shaped = new Map<string, string>();

/**
 * Builds a statement for the hot paths from SQL with named parameters (`:projectId`); each value is sent once however
 * often its parameter occurs. Each text gets its own name, under which a connection prepares it once. The text must
 * contain the shape of a query and no values, because every text ever seen is kept.
 * @param operation the beginning of the name, for people who look at pg_prepared_statements
 * @throws Error if a parameter has no value
 */
export function toStatement(operation: string, sql: string, values: Readonly<Record<string, unknown>>): pg.QueryConfig {
  let statement = compiled.get(sql);
  if (!statement) {
    statement = compile(operation, sql);
    compiled.set(sql, statement);
  }
  return {
    name: statement.name,
    text: statement.text,
    values: statement.parameters.map((name) => requireValue(values, name)),
  };
}

/**
 * Like `toStatement`, for SQL that is long enough that making it for each request takes time.
 * @param shape everything that the text depends on; the text is made once for each
 */
export function toShapedStatement(
  operation: string,
  shape: string,
  makeSql: () => string,
  values: Readonly<Record<string, unknown>>,
): pg.QueryConfig {
  const key = `${operation} ${shape}`;
  let sql = shaped.get(key);
  if (sql === undefined) {
    sql = makeSql();
    shaped.set(key, sql);
  }
  return toStatement(operation, sql, values);
}

function compile(operation: string, sql: string): Compiled {
  const parameters: string[] = [];
  // Skips strings and casts (`::uuid`).
  const text = sql.replaceAll(/'[^']*'|::|:([a-zA-Z]\w*)/g, (token, name: string | undefined) => {
    if (name === undefined) return token;
    if (!parameters.includes(name)) parameters.push(name);
    return `$${parameters.indexOf(name) + 1}`;
  });
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 24);
  return { name: `${operation}-${hash}`, text, parameters };
}

function requireValue(values: Readonly<Record<string, unknown>>, name: string): unknown {
  if (!Object.hasOwn(values, name)) throw new Error(`The statement has no value for :${name}`);
  return values[name];
}
