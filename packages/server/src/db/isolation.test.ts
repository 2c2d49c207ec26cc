import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestDatabase, testableKinds } from '../../test/database.ts';
import { readColumns } from '../../test/rows.ts';
import type { Database } from './open.ts';

/**
 * Columns that do not reference a row of a project, and why; every other column that ends in _id needs a composite
 * reference.
 */
const withoutReference: Record<string, string> = {
  id: 'is the id of its own row',
  project_id: 'is the project',
  user_id: 'users belong to no project',
  trash_id: 'a file or a folder, either the row itself or an ancestor; only read together with project_id',
  'uploads.folder_id':
    'only a request: the folder may disappear in the meantime, and files_folder_fkey has the last word at record',
  'uploads.file_id': 'the answer to a repeated completion outlives the file',
  'audit_events.api_key_id': 'an event outlives everything it refers to',
  'events.api_key_id': 'an event outlives everything it refers to',
  'events.ticket_id': 'an event outlives everything it refers to',
  'new_events.api_key_id': 'an event outlives everything it refers to',
  'new_events.ticket_id': 'an event outlives everything it refers to',
  'audit_events.request_id': 'names an answer and lines of the log, and no row',
  'operations.request_id': 'names an answer and lines of the log, and no row',
  'webhook_deliveries.endpoint_id': 'numbering events waits for nobody; a row without its endpoint is removed',
  'webhook_deliveries.event_id': 'an event outlives everything that refers to it',
  'files.external_id': "the application's own",
  'quarantines.api_key_id': 'the uploads of a key outlive it',
  'files.ticket_id': 'the fact outlives the ticket',
  'uploads.ticket_id': 'the fact outlives the ticket',
  'ticket_reservations.upload_id': 'only read together with project_id, to find its upload in parts',
  'operations.folder_id': 'only a request: the folder may disappear in the meantime, and then the operation fails',
  'image_variants.file_id': 'the row of a variant outlives the file, until its object is gone',
  'operations.target_id': 'only a request, like its folder_id',
  'uploads.store_upload_id': 'an id of the object store',
};

interface Reference {
  constraint: string;
  table: string;
  target: string;
  columns: string[];
  targetColumns: string[];
}

describe.each(testableKinds)('no row can name a row of another project (T3; %s)', (kind) => {
  let db: Database;
  let tables: Map<string, string[]>;
  let references: Reference[];

  beforeAll(async () => {
    db = await openTestDatabase(kind);
    tables = new Map([...(await readColumns(db))].filter(([, columns]) => columns.includes('project_id')));
    const { rows } = await db.pool.query<Reference>(
      `select conname as constraint, conrelid::regclass::text as table, confrelid::regclass::text as target,
              (select array_agg(attname::text order by n) from unnest(conkey) with ordinality k(num, n)
               join pg_attribute on attrelid = conrelid and attnum = num) as columns,
              (select array_agg(attname::text order by n) from unnest(confkey) with ordinality k(num, n)
               join pg_attribute on attrelid = confrelid and attnum = num) as "targetColumns"
       from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace order by 1`,
    );
    references = rows;
  });
  afterAll(() => db.close());

  // A key can belong to no project, so its id is all there is to reference.
  const ofProjects = () =>
    references.filter(({ table, target }) => tables.has(table) && tables.has(target) && target !== 'api_keys');

  test('every reference between tables of a project begins with project_id, on both sides', () => {
    expect(ofProjects().length).toBeGreaterThanOrEqual(3);
    for (const { constraint, columns, targetColumns } of ofProjects()) {
      expect([constraint, columns[0], targetColumns[0]]).toEqual([constraint, 'project_id', 'project_id']);
    }
  });

  test('every id column has such a reference, or is listed with the reason why not', () => {
    const bare = [...tables].flatMap(([table, columns]) =>
      columns
        .filter((column) => column === 'id' || column.endsWith('_id'))
        .filter((column) => !(withoutReference[column] ?? withoutReference[`${table}.${column}`]))
        .filter((column) => !ofProjects().some((one) => one.table === table && one.columns.includes(column)))
        .map((column) => `${table}.${column}`),
    );
    expect(bare).toEqual([]);
  });

  test('project_id comes first in the key of every table whose rows belong to a project', async () => {
    const { rows } = await db.pool.query<{ table: string; first: string }>(
      `select conrelid::regclass::text as table, attname as first from pg_constraint
       join pg_attribute on attrelid = conrelid and attnum = conkey[1]
       where contype = 'p' and connamespace = 'public'::regnamespace`,
    );
    const keys = Object.fromEntries(rows.map(({ table, first }) => [table, first]));
    // An API key may be tied to no project.
    const apart = [...tables.keys()].filter((table) => keys[table] !== 'project_id');
    // The outbox is read in the order of its rows, over all projects, and deliveries by their endpoint.
    const known = ['api_keys', 'audit_events', 'new_events', 'webhook_deliveries'];
    expect(apart.filter((table) => !known.includes(table))).toEqual([]);
  });

  test('the database itself refuses a row that references a row of another project', async () => {
    const [here, there] = [uuidv7(), uuidv7()];
    for (const id of [here, there]) await db.pool.query("insert into projects (id, name) values ($1, 'P')", [id]);
    const inOther = new Map<string, Record<string, unknown>>();
    for (const project of [there, here]) {
      // Referenced tables come first, so that there is something to reference.
      const targets = new Set(ofProjects().map(({ target }) => target));
      const ordered = [...targets, ...ofProjects().map(({ table }) => table)];
      for (const table of new Set(ordered)) {
        const { rows } = await db.pool.query<Record<string, unknown>>(await fillInsert(table, project));
        if (project === there) inOther.set(table, rows[0] ?? {});
      }
    }
    for (const { constraint, table, target, columns, targetColumns } of ofProjects()) {
      const foreign = inOther.get(target) ?? {};
      const own = columns.slice(1).map((column, i) => `${column} = '${foreign[targetColumns[i + 1] ?? '']}'`);
      const text = `update ${table} set ${own.join(', ')} where project_id = '${here}'`;
      await expect(db.pool.query(text), text).rejects.toMatchObject({ code: '23503', constraint });
    }
  });

  /** Builds a row of this table with a value for every column that needs one and has no default. */
  async function fillInsert(table: string, projectId: string): Promise<string> {
    const { rows } = await db.pool.query<{ name: string; type: string; checks: string | null }>(
      `select attname as name, format_type(atttypid, null) as type,
              (select string_agg(pg_get_constraintdef(oid), ' ') from pg_constraint
               where conrelid = attrelid and contype = 'c' and attnum = any(conkey)) as checks
       from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped
         and (attnotnull and not atthasdef or attname = 'project_id') order by attnum`,
      [table],
    );
    const { rows: parents } = await db.pool.query<Record<string, string>>(
      `select ${ofProjects()
        .filter((one) => one.table === table && one.target !== table)
        .map(
          ({ target, columns, targetColumns }) =>
            `(select ${targetColumns[1]} from ${target} where project_id = $1 limit 1) as ${columns[1]}`,
        )
        .concat('$1 as project_id')
        .join(', ')}`,
      [projectId],
    );
    const { rows: users } = await db.pool.query<{ id: string }>(
      `insert into users (id, name, email, role) values ($1::uuid, 'A', $1::text, 'member') returning id`,
      [uuidv7()],
    );
    const values: Record<string, string> = {
      uuid: uuidv7(),
      text: '',
      bytea: `\\x${uuidv7().replaceAll('-', '')}`,
      bigint: '1',
      integer: '1',
      smallint: '1',
      json: '{}',
      boolean: 'true',
      jsonb: '{}',
      'text[]': '{}',
      'timestamp with time zone': new Date().toISOString(),
    };
    const toValue = ({ name, type, checks }: { name: string; type: string; checks: string | null }) =>
      parents[0]?.[name] ??
      (/^(?:created_by|user_id)$/.test(name) ? users[0]?.id : undefined) ??
      (type === 'text' ? (/'(\w+)'/.exec(checks ?? '')?.[1] ?? uuidv7()) : values[type]);
    const names = rows.map(({ name }) => name);
    const all = rows.map((row) => `'${toValue(row)}'`);
    return `insert into ${table} (${names}) values (${all}) returning *`;
  }
});
