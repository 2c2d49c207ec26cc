import type pg from 'pg';
import type { Trace } from '../telemetry/trace.ts';

/** The same pool, and connections of it, whose statements are spans of a recorded trace. */
export function tracePool(pool: pg.Pool, trace: Trace): pg.Pool {
  return override(pool, {
    query: (...args: unknown[]) => traceStatement(trace, args, () => Reflect.apply(pool.query, pool, args)),
    connect: async () => {
      const client = await trace.run('database connect', {}, 'internal', () => pool.connect());
      return override(client, {
        query: (...args: unknown[]) => traceStatement(trace, args, () => Reflect.apply(client.query, client, args)),
      });
    },
  });
}

/**
 * Runs a statement in a span with its name, with the wait for a connection. Neither text nor values are kept: they may have
 * names of files.
 */
export function traceStatement<T>(trace: Trace, [statement]: readonly unknown[], run: () => Promise<T>): Promise<T> {
  const name = toName(statement);
  return trace.run(`database ${name}`, { 'db.system.name': 'postgresql', 'db.query.summary': name }, 'client', run);
}

/** The hash that `toStatement` appends. */
const hash = /-[\w-]{24}$/;

/** The name of a statement, or else its verb and first table, such as `select files`. */
function toName(statement: unknown): string {
  if (typeof statement === 'object' && statement !== null) {
    const { name, text } = statement as pg.QueryConfig;
    return name?.replace(hash, '') ?? toName(text);
  }
  const text = typeof statement === 'string' ? statement : '';
  const verb = /^[\s(]*([a-z]+)/i.exec(text)?.[1]?.toLowerCase() ?? 'statement';
  const table = /\b(?:from|into|update)\s+(?:only\s+)?"?([a-z_]+)/i.exec(text)?.[1];
  return table === undefined || table === verb ? verb : `${verb} ${table}`;
}

/** The object with some of its methods replaced; all others are called on the object itself. */
function override<T extends object>(target: T, methods: Partial<Record<keyof T, unknown>>): T {
  return new Proxy(target, {
    get(_, key) {
      if (Object.hasOwn(methods, key)) return methods[key as keyof T];
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
