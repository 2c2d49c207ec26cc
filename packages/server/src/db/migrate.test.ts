import { spawn } from 'node:child_process';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createServerDatabase, openEmptyDatabase, testableKinds } from '../../test/database.ts';
import { makeTestFolder } from '../../test/embedded-database.ts';
import { findPending, MigrationMismatch, migrate } from './migrate.ts';
import { type Database, openDatabase } from './open.ts';

const ownFolder = new URL('./migrations/', import.meta.url);

describe.each(testableKinds)('migrate (%s)', (kind) => {
  let db: Database;
  let folder: string;
  const url = () => pathToFileURL(`${folder}/`);
  beforeAll(async () => {
    db = await openEmptyDatabase(kind);
  });
  afterAll(() => db.close());
  beforeEach(async () => {
    await db.pool.query('drop schema public cascade; create schema public');
    folder = await makeTestFolder();
    await writeFile(join(folder, '0001-one.sql'), 'create table one (id int); insert into one values (1);');
    await writeFile(join(folder, '0002-two.sql'), 'alter table one add two int; update one set two = 2;');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('applies the pending files in order, once', async () => {
    expect(await migrate(db.pool, url())).toEqual({ applied: ['0001-one.sql', '0002-two.sql'] });
    await writeFile(join(folder, '0003-three.sql'), 'insert into one values (3, 3)');
    await writeFile(join(folder, 'README.md'), 'not a migration');
    expect(await migrate(db.pool, url())).toEqual({ applied: ['0003-three.sql'] });
    expect(await migrate(db.pool, url())).toEqual({ applied: [] });
    expect((await db.pool.query('select * from one order by id')).rows).toEqual([
      { id: 1, two: 2 },
      { id: 3, two: 3 },
    ]);
    const { rows } = await db.pool.query<{ sha256: string }>('select * from cadiz_migrations order by name');
    expect(rows).toMatchObject([{ name: '0001-one.sql' }, { name: '0002-two.sql' }, { name: '0003-three.sql' }]);
    expect(rows.every(({ sha256 }) => /^[0-9a-f]{64}$/.test(sha256))).toBe(true);
  });

  it('takes as long as it takes, whatever the role or the database allows otherwise', async () => {
    const limits = "name ~ '^(statement|lock|transaction|idle_in_transaction_session)_timeout$'";
    await writeFile(
      join(folder, '0003-three.sql'),
      `create table limits as select setting from pg_settings where ${limits}`,
    );
    // The pool uses the same connection again, as nobody else needs one.
    const { rows } = await db.pool.query(`select set_config(name, '60000', false) from pg_settings where ${limits}`);
    try {
      await migrate(db.pool, url());
    } finally {
      await db.pool.query('reset all');
    }
    const applied = await db.pool.query('select setting from limits');
    expect(rows.length).toBeGreaterThanOrEqual(3);
    expect(applied.rows).toEqual(rows.map(() => ({ setting: '0' })));
  });

  it('names what is pending, and changes nothing', async () => {
    expect(await findPending(db.pool, url())).toEqual(['0001-one.sql', '0002-two.sql']);
    expect((await db.pool.query("select to_regclass('cadiz_migrations') a")).rows).toEqual([{ a: null }]);
    await migrate(db.pool, url());
    await writeFile(join(folder, '0003-three.sql'), 'insert into one values (3, 3)');
    expect(await findPending(db.pool, url())).toEqual(['0003-three.sql']);
    await writeFile(join(folder, '0001-one.sql'), 'create table one (id bigint)');
    await expect(findPending(db.pool, url())).rejects.toThrow(MigrationMismatch);
  });

  it('needs no right to create tables if nothing is pending', async () => {
    await migrate(db.pool, url());
    const role = `reader_${process.pid}`;
    await db.pool.query(`create role ${role}; grant usage on schema public to ${role};
      grant select on cadiz_migrations to ${role}; set role ${role}`);
    try {
      expect(await migrate(db.pool, url())).toEqual({ applied: [] });
    } finally {
      await db.pool.query(`reset role; drop owned by ${role}; drop role ${role}`);
    }
  });

  it('applies all or nothing, and leaves a pool that works', async () => {
    await writeFile(join(folder, '0003-bad.sql'), 'insert into one values (3, 3); select 1/0');
    await expect(migrate(db.pool, url())).rejects.toMatchObject({
      message: 'The migration 0003-bad.sql failed, and nothing was changed: division by zero.',
      cause: { code: '22012' },
    });
    expect((await db.pool.query("select to_regclass('one') a, to_regclass('cadiz_migrations') b")).rows).toEqual([
      { a: null, b: null },
    ]);
    await rm(join(folder, '0003-bad.sql'));
    expect((await migrate(db.pool, url())).applied).toHaveLength(2);
  });

  it('refuses a file that was changed or is missing, and changes nothing', async () => {
    await migrate(db.pool, url());
    await writeFile(join(folder, '0003-three.sql'), 'insert into one values (3, 3)');
    await writeFile(join(folder, '0001-one.sql'), 'create table one (id bigint)');
    await expect(migrate(db.pool, url())).rejects.toThrow(MigrationMismatch);
    await expect(migrate(db.pool, url())).rejects.toThrow(/0001-one\.sql in another form/);
    await rm(join(folder, '0001-one.sql'));
    await expect(migrate(db.pool, url())).rejects.toThrow('0001-one.sql, which this version of Cadiz does not know');
    expect((await db.pool.query('select * from one')).rowCount).toBe(1);
  });

  it('treats Windows line endings as the same file', async () => {
    await writeFile(join(folder, '0003-three.sql'), 'select 1;\nselect 2;\n');
    await migrate(db.pool, url());
    await writeFile(join(folder, '0003-three.sql'), 'select 1;\r\nselect 2;\r\n');
    expect(await migrate(db.pool, url())).toEqual({ applied: [] });
  });

  it('refuses a file that would come before an applied one', async () => {
    await migrate(db.pool, url());
    await writeFile(join(folder, '0001-older.sql'), 'select 1');
    await expect(migrate(db.pool, url())).rejects.toThrow('0001-older.sql');
  });

  it('migrates once when six calls come at the same moment', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => migrate(db.pool, url())));
    expect(answers.flatMap(({ applied }) => applied)).toEqual(['0001-one.sql', '0002-two.sql']);
  });
});

if (!testableKinds.includes('postgres')) {
  console.warn(
    'LEFT OUT: TEST_DATABASE_URL is not set, so six processes migrating one PostgreSQL at once was not tested.',
  );
}

describe.runIf(testableKinds.includes('postgres'))('six processes that start at once', () => {
  it('migrate once', async () => {
    const { url, drop } = await createServerDatabase();
    onTestFinished(drop);
    let ready = 0;
    const script = fileURLToPath(new URL('../../test/db/migrate.mjs', import.meta.url));
    const processes = Array.from({ length: 6 }, () => {
      const { stdin, stdout } = spawn(process.execPath, [script, url], { stdio: ['pipe', 'pipe', 'inherit'] });
      return { stdin, lines: createInterface(stdout)[Symbol.asyncIterator]() };
    });
    const answers = Promise.all(
      processes.map(async ({ lines }) => {
        expect(await lines.next()).toMatchObject({ value: 'ready' });
        // The last one to get ready releases all of them.
        ready += 1;
        if (ready === processes.length) for (const other of processes) other.stdin.end();
        return JSON.parse((await lines.next()).value) as string[];
      }),
    );
    expect((await answers).flat()).toEqual((await readdir(ownFolder)).sort());
  });
});

it('has migrations whose names give their order', async () => {
  const names = (await readdir(ownFolder)).sort();
  expect(names.every((name, i) => new RegExp(`^${String(i + 1).padStart(4, '0')}-[a-z-]+\\.sql$`).test(name))).toBe(
    true,
  );
});

it('also finds its migrations from dist', async () => {
  const folder = await makeTestFolder();
  const { migrate: built } = (await import('../../dist/db/migrate.js')) as { migrate: typeof migrate };
  const db = await openDatabase({ kind: 'embedded', dataDir: folder });
  expect((await built(db.pool)).applied).toEqual((await readdir(ownFolder)).sort());
  await db.close();
  await rm(folder, { recursive: true });
});
