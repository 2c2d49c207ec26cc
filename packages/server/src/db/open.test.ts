import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createSecureContext, TLSSocket } from 'node:tls';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createServerDatabase, openEmptyDatabase, testableKinds } from '../../test/database.ts';
import { DatabaseUnreachable } from './database-errors.ts';
import { type Database, openDatabase, withDirectPool } from './open.ts';

describe.each(testableKinds)('openDatabase (%s)', (kind) => {
  let db: Database;
  beforeAll(async () => {
    db = await openEmptyDatabase(kind);
    await db.pool.query('create table people (id int primary key, name text constraint people_name_key unique)');
  });
  afterAll(() => db.close());

  const countPeople = async () => (await db.pool.query<{ n: number }>('select count(*) n from people')).rows[0]?.n;

  it('answers checks and reports its version', async () => {
    await Promise.all([db.check(), db.check()]);
    expect(db.kind).toBe(kind);
    expect(Number.parseInt(db.serverVersion, 10)).toBeGreaterThanOrEqual(15);
  });

  it.runIf(kind === 'postgres')('has no statement compiled, whatever the server does by default', async () => {
    expect((await db.pool.query('show jit')).rows).toEqual([{ jit: 'off' }]);
  });

  it('keeps connections free of transactions of one project that wait for each other', async () => {
    const ended: string[] = [];
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const transact = (project: string, work: () => Promise<unknown> = async () => undefined) =>
      db.transactionOf(project, async (trx) => {
        await sql`select pg_advisory_xact_lock(hashtext(${project}))`.execute(trx);
        await work();
        ended.push(project);
      });
    // Nothing waits for a test that has failed.
    onTestFinished(release);
    let first = Promise.resolve();
    // It has the lock before another asks for it.
    await new Promise<void>((resolve) => {
      first = transact('noisy', () => {
        resolve();
        return kind === 'postgres' ? released : Promise.resolve();
      });
    });
    const others = Array.from({ length: 40 }, () => transact('noisy'));
    await transact('quiet');
    await db.pool.query('select 1');
    // Where all of them take turns on one connection, the first one has had its own.
    expect(ended.indexOf('quiet')).toBe(kind === 'postgres' ? 0 : 1);
    release();
    await Promise.all([first, ...others]);
    expect(ended.length).toBe(42);
  });

  it('gives Node nothing to warn of, however many transactions of one project wait', async () => {
    const warnings: Error[] = [];
    const take = (warning: Error) => void warnings.push(warning);
    process.on('warning', take);
    onTestFinished(() => void process.off('warning', take));
    // Node warns once of each signal that many listen to.
    const fresh = await openEmptyDatabase(kind);
    onTestFinished(() => fresh.close());
    await Promise.all(
      Array.from({ length: 40 }, () => fresh.transactionOf('noisy', (trx) => sql`select 1`.execute(trx))),
    );
    expect(warnings).toEqual([]);
  });

  it('reads bigint as number, and refuses one that a number cannot hold', async () => {
    const { rows } = await db.pool.query("select 9007199254740991::int8 as big, '{1}'::text[] as texts");
    expect(rows).toEqual([{ big: Number.MAX_SAFE_INTEGER, texts: ['1'] }]);
    await expect(db.pool.query('select 9007199254740992::int8')).rejects.toThrow(RangeError);
    await db.check();
    expect(pg.types.getTypeParser(20)('1')).toBe('1');
  });

  it('reads timestamptz as Date, to the millisecond', async () => {
    const at = new Date('2026-02-03T04:05:06.789Z');
    expect((await db.pool.query('select $1::timestamptz(3) as at', [at])).rows).toEqual([{ at }]);
  });

  it('keeps any text unchanged, sorts by code points, and refuses NUL', async () => {
    const text = 'Zoë 日本語 😀 %+#\u0301';
    expect((await db.pool.query('select $1::text as text', [text])).rows).toEqual([{ text }]);
    const { rows } = await db.pool.query<{ x: string }>("select x from unnest(array['ä', 'a', 'Z', 'z']) x order by x");
    expect(rows.map(({ x }) => x)).toEqual(['Z', 'a', 'z', 'ä']);
    await expect(db.pool.query('select $1::text', ['a\0b'])).rejects.toMatchObject({ code: '22021' });
  });

  it('accepts and returns every type that the tables use, and null', async () => {
    const values = {
      uuid: '019aa5f0-0000-7000-8000-000000000001',
      bool: true,
      int2: 1,
      int4: -2_147_483_648,
      int8: 5_000_000_000_000,
      text: '',
      bytea: Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
      'text[]': ['a,b', '"{}"', '', 'NULL', '\\'],
      'timestamptz(3)': new Date('2026-11-21T08:00:00.123Z'),
      jsonb: { a: [1, null, '😀'] },
    };
    for (const [type, value] of Object.entries(values)) {
      const text = `select $1::${type} as value, $2::${type} as none`;
      for (const query of [
        { text, values: [value, null] },
        { name: `echo ${type}`, text, values: [value, null] },
      ]) {
        expect((await db.pool.query(query)).rows, type).toEqual([{ value, none: null }]);
      }
    }
  });

  describe('a conflict with other work', () => {
    // nextval is not rolled back: the first calls fail, and then it works.
    beforeAll(() =>
      db.pool.query(`
        create sequence calls;
        create function conflict_first(times int, code text) returns bigint language plpgsql volatile as $$
        declare call bigint := nextval('calls');
        begin
          if call <= times then raise exception 'undone' using errcode = code; end if;
          return call;
        end $$`),
    );
    beforeEach(() => db.pool.query("select setval('calls', 1, false)"));
    const call = (times: number, code = '40P01') =>
      sql<{ call: number }>`select conflict_first(${times}, ${code}) as call`;

    it.each(['40P01', '40001'])('has its statement sent again (%s)', async (code) => {
      const text = 'select conflict_first($1, $2) as call';
      expect((await db.pool.query(text, [1, code])).rows).toEqual([{ call: 2 }]);
      expect((await db.pool.query({ name: 'conflict', text, values: [3, code] })).rows).toEqual([{ call: 4 }]);
    });

    it('has its transaction run again as a whole', async () => {
      const { rows } = await db.transaction(async (trx) => {
        await sql`insert into people values (1, 'Ada')`.execute(trx);
        return call(2).execute(trx);
      });
      expect(rows).toEqual([{ call: 3 }]);
      expect(await countPeople()).toBe(1);
      await db.pool.query('delete from people');
    });

    it('fails after five attempts', async () => {
      await expect(call(5).execute(db.kysely)).rejects.toMatchObject({ code: '40P01' });
      await expect(db.transaction((trx) => call(10).execute(trx))).rejects.toMatchObject({ code: '40P01' });
      expect((await db.pool.query("select nextval('calls') as next")).rows).toEqual([{ next: 11 }]);
    });

    it('does not resend a single statement of a transaction, nor one that failed for another reason', async () => {
      const failing = db.kysely.transaction().execute((trx) => call(1).execute(trx));
      await expect(failing).rejects.toMatchObject({ code: '40P01' });
      await expect(db.transaction((trx) => call(3, '23514').execute(trx))).rejects.toMatchObject({ code: '23514' });
      expect((await db.pool.query("select nextval('calls') as next")).rows).toEqual([{ next: 3 }]);
    });
  });

  it('names the constraint that a reference violates', async () => {
    await db.pool.query(
      'create table pets (owner int constraint pets_owner_fkey references people, name text not null)',
    );
    const adding = db.pool.query('insert into pets values ($1, $2)', [4711, 'Rex']);
    await expect(adding).rejects.toBeInstanceOf(pg.DatabaseError);
    await expect(adding).rejects.toMatchObject({ code: '23503', constraint: 'pets_owner_fkey', table: 'pets' });
    await db.pool.query('drop table pets');
  });

  it('keeps working after a parameter that cannot be sent and after one that does not fit its type', async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const client = await db.pool.connect();
    const text = 'select $1::int4 as n';
    await expect(client.query('select $1::jsonb', [circular])).rejects.toThrow('circular');
    await expect(client.query({ name: 'fit', text, values: [2 ** 31] })).rejects.toMatchObject({ code: '22003' });
    await expect(client.query({ name: 'fit', text, values: [1, 2] })).rejects.toMatchObject({ code: '08P01' });
    expect((await client.query({ name: 'fit', text, values: [7] })).rows).toEqual([{ n: 7 }]);
    client.release();
    await db.check();
  });

  it('reports errors as PostgreSQL does, and keeps working', async () => {
    await db.pool.query("insert into people values (1, 'Ada')");
    const error: unknown = await db.pool
      .query({ name: 'add', text: 'insert into people values ($1, $2)', values: [2, 'Ada'] })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(pg.DatabaseError);
    expect(error).toMatchObject({ code: '23505', constraint: 'people_name_key' });
    await expect(db.pool.query('nonsense')).rejects.toMatchObject({ code: '42601' });
    await expect(db.pool.query('select $1::int', ['x'])).rejects.toMatchObject({ code: '22P02' });
    await db.pool.query({ name: 'add', text: 'insert into people values ($1, $2)', values: [2, 'Grace'] });
    expect(await countPeople()).toBe(2);
    await db.pool.query('delete from people');
  });

  it('commits, rolls back, and refuses statements in a failed transaction', async () => {
    const client = await db.pool.connect();
    await client.query('begin');
    await client.query("insert into people values (3, 'Edsger')");
    await expect(client.query("insert into people values (3, 'again')")).rejects.toMatchObject({ code: '23505' });
    await expect(client.query('select 1')).rejects.toMatchObject({ code: '25P02' });
    await client.query('rollback');
    client.release();
    expect(await countPeople()).toBe(0);
    await db.kysely.transaction().execute(async (trx) => {
      await trx.executeQuery({ sql: "insert into people values (4, 'Barbara')", parameters: [] } as never);
    });
    expect(await countPeople()).toBe(1);
    await db.pool.query('delete from people');
  });

  it('runs several statements in one query, and rolls all of them back if one fails', async () => {
    await expect(db.pool.query("insert into people values (5, 'x'); select 1/0")).rejects.toMatchObject({
      code: '22012',
    });
    expect(await countPeople()).toBe(0);
  });

  it('forgets a client that disconnects in the middle of a transaction', async () => {
    const client = await db.pool.connect();
    await client.query('begin');
    await client.query("insert into people values (6, 'Alan')");
    client.release(true);
    expect(await countPeople()).toBe(0);
    await db.pool.query("insert into people values (6, 'Alan')");
    await db.pool.query('delete from people');
  });

  it('survives a client that is cut off while its query runs, ten times', async () => {
    for (let i = 0; i < 10; i++) {
      const client = await db.pool.connect();
      client.on('error', () => undefined);
      await client.query('begin');
      const query = client.query('insert into people select g, g::text from generate_series(1, 50000) g');
      query.catch(() => undefined);
      (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
      await expect(query).rejects.toThrow('Connection terminated');
      client.release(true);
      expect(await countPeople()).toBe(0);
    }
  });

  it('carries ten thousand queries, a result of 5 MB and a parameter of 1 MB', async () => {
    for (let round = 0; round < 100; round++) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          db.pool.query<{ n: number }>({ name: 'echo', text: 'select $1::int as n', values: [round * 100 + i] }),
        ),
      );
      expect(answers.map(({ rows }) => rows[0]?.n)).toEqual(Array.from({ length: 100 }, (_, i) => round * 100 + i));
    }
    const rows = await db.pool.query<{ x: string }>("select repeat('é', 500) as x from generate_series(1, 5000)");
    expect(rows.rowCount).toBe(5000);
    expect(rows.rows.every(({ x }) => x === 'é'.repeat(500))).toBe(true);
    const text = 'ü'.repeat(524_288);
    const one = await db.pool.query<{ x: string; n: number }>('select $1::text as x, octet_length($1::text) as n', [
      text,
    ]);
    expect(one.rows).toEqual([{ x: text, n: 1_048_576 }]);
  });

  it('delivers NOTIFY to a client that listens', async () => {
    const client = await db.pool.connect();
    const heard = new Promise((resolve) => client.once('notification', resolve));
    await client.query('listen news');
    await client.query("select pg_notify('news', 'hello')");
    expect(await heard).toMatchObject({ channel: 'news', payload: 'hello' });
    client.release(true);
  });
});

/** What PgBouncer sends before it closes a connection. */
function toRefusal(message: string): Buffer {
  const fields = ['SERROR', 'VERROR', 'C08P01', `M${message}`, ''].join('\0');
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(4 + fields.length + 1, 1);
  return Buffer.concat([head, Buffer.from(`${fields}\0`)]);
}

describe('openDatabase', () => {
  it('names the server it cannot reach, and never the password', async () => {
    const url = 'postgres://somebody:s3cret@127.0.0.1:1/cadiz';
    const error: unknown = await openDatabase({ kind: 'postgres', url }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(DatabaseUnreachable);
    expect(String(error)).toContain('The PostgreSQL database cadiz at 127.0.0.1:1 cannot be used: ');
    expect(String(error)).not.toContain('s3cret');
  });

  it('says in one sentence that a server is silent', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const opening = openDatabase({ kind: 'postgres', url: `postgres://cadiz@127.0.0.1:${port}/cadiz` });
    await expect(opening).rejects.toThrow(/ cannot be used: The database does not answer\. Check DATABASE_URL/);
    silent.close();
  });

  /** Opens a database where something else speaks in the place of PostgreSQL. */
  async function openAt(speak: (socket: Socket) => void, more = ''): Promise<Database> {
    const server = createServer((socket) => speak(socket.on('error', () => undefined)));
    onTestFinished(() => void server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    return openDatabase({ kind: 'postgres', url: `postgres://cadiz@127.0.0.1:${port}/cadiz${more}` });
  }

  it.each([
    [
      'unsupported startup parameter: statement_timeout',
      'set DATABASE_DIRECT_URL to the URL of the server itself as well',
    ],
    [
      'unsupported startup parameter: options',
      'leave them out of DATABASE_URL, set them for the user or the database, and set DATABASE_DIRECT_URL',
    ],
    [
      'no pg_hba.conf entry for host "10.0.0.7", user "cadiz", database "cadiz", no encryption',
      'add sslmode=verify-full to DATABASE_URL',
    ],
  ])('says what to do with a server that refuses with "%s"', async (message, advice) => {
    const opening = openAt((socket) => void socket.once('data', () => socket.end(toRefusal(message))));
    await expect(opening).rejects.toThrow(advice);
  });

  it('says that a password is missing', async () => {
    const [mechanisms, first] = [
      Buffer.from('R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0'),
      Buffer.from('R\0\0\0\x08\0\0\0\x0b'),
    ];
    const opening = openAt((socket) => {
      socket.once('data', () => socket.write(mechanisms, () => socket.once('data', () => socket.write(first))));
    });
    await expect(opening).rejects.toThrow('It asks for a password, which DATABASE_URL does not have.');
  });

  it.runIf(spawnSync('openssl', ['version']).status === 0)('says that a certificate is not trusted', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'cadiz-certificate-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const made = ['-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert];
    execFileSync('openssl', ['req', '-x509', '-days', '2', ...made, '-subj', '/CN=localhost'], { stdio: 'ignore' });
    const secureContext = createSecureContext({ key: await readFile(key), cert: await readFile(cert) });
    const opening = openAt((socket) => {
      socket.once('data', () => {
        socket.write('S');
        new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => undefined);
      });
    }, '?sslmode=verify-full');
    await expect(opening).rejects.toThrow('name the file of that authority in DATABASE_URL, as sslrootcert');
  });

  it('shares one query among all checks while the database hangs', async () => {
    const db = await openEmptyDatabase('embedded');
    const only = await db.pool.connect();
    const checks = Array.from({ length: 50 }, () => db.check());
    expect(db.pool.waitingCount).toBe(1);
    only.release();
    await Promise.all(checks);
    await db.check();
    await db.close();
  });

  it('can be closed while it waits for its connection to look whether a checkpoint is due', {
    timeout: 30_000,
  }, async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const db = await openEmptyDatabase('embedded');
    const only = await db.pool.connect();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(db.pool.waitingCount).toBe(1);
    only.release(true);
    await db.close();
  });

  it('can be closed twice', async () => {
    const db = await openEmptyDatabase('embedded');
    await Promise.all([db.close(), db.close()]);
    await expect(db.check()).rejects.toThrow();
  });
});

describe.runIf(testableKinds.includes('postgres'))('behind a pooler', () => {
  it('sends statements unnamed, and bypasses the pooler on request', async () => {
    const { url, drop } = await createServerDatabase();
    const settings = { kind: 'postgres', url, directUrl: url, maxConnections: 1 } as const;
    const db = await openDatabase(settings);
    const named = { name: 'one', text: 'select $1::int as n', values: [1] };
    const prepared = 'select name from pg_prepared_statements';
    expect((await db.pool.query(named)).rows).toEqual([{ n: 1 }]);
    expect(
      (await db.kysely
        .selectFrom('cadiz_none' as never)
        .execute()
        .catch(String)) as string,
    ).toContain('cadiz_none');
    expect((await db.pool.query(prepared)).rows).toEqual([]);

    const direct = await withDirectPool(settings, db, async (pool) => {
      await pool.query(named);
      return (await pool.query(prepared)).rows;
    });
    expect(direct).toEqual([{ name: 'one' }]);
    await db.close();
    await drop();
  });

  it('sends them named to one that keeps what is prepared', async () => {
    const { url, drop } = await createServerDatabase();
    const db = await openDatabase({ kind: 'postgres', url, directUrl: url, poolerPrepares: true, maxConnections: 1 });
    await db.pool.query({ name: 'one', text: 'select 1' });
    expect((await db.pool.query('select name from pg_prepared_statements')).rows).toEqual([{ name: 'one' }]);
    await db.close();
    await drop();
  });

  it('is refused if it leads to another database than the direct URL', async () => {
    const [one, other] = [await createServerDatabase(), await createServerDatabase()];
    const settings = { kind: 'postgres', url: one.url, directUrl: other.url } as const;
    const db = await openDatabase(settings);
    onTestFinished(async () => {
      await db.close();
      await Promise.all([one.drop(), other.drop()]);
    });
    const work = vi.fn();
    await expect(withDirectPool(settings, db, work)).rejects.toThrow(
      /^DATABASE_DIRECT_URL leads to another database than DATABASE_URL, /,
    );
    expect(work).not.toHaveBeenCalled();
  });

  it('is refused if it hands out connections for single statements', async () => {
    const { url, drop } = await createServerDatabase();
    onTestFinished(drop);
    const { host, port } = new pg.Client(url);
    const transactionBegan = Buffer.from('Z\0\0\0\x05T');
    const pooler = createServer((socket) => {
      const server = connect(port, host);
      socket.on('error', () => undefined).on('close', () => server.destroy());
      socket.pipe(server);
      server.on('data', (data) => {
        if (!data.includes(transactionBegan)) socket.write(data);
        else socket.end(toRefusal('transaction blocks not allowed in statement pooling mode'));
      });
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void pooler.close());
    await once(pooler, 'listening');
    const pooled = Object.assign(new URL(url), { port: (pooler.address() as AddressInfo).port });
    const opening = openDatabase({ kind: 'postgres', url: pooled.href, directUrl: url });
    await expect(opening).rejects.toThrow('set its pool_mode to transaction or session');
  });

  it.each(['the URL', 'PGOPTIONS'])('gives listings their own settings beside the options of %s', async (place) => {
    const { url, drop } = await createServerDatabase();
    const own = '-c search_path=place,public -c work_mem=5MB';
    const withOptions = new URL(url);
    if (place === 'the URL') withOptions.searchParams.set('options', own);
    else vi.stubEnv('PGOPTIONS', own);
    onTestFinished(() => void vi.unstubAllEnvs());
    const db = await openDatabase({ kind: 'postgres', url: withOptions.href });
    const { signal } = new AbortController();
    const reading = { pace: 'page' as const, userId: 'ada', projectId: 'project', signal };
    // The last one frees what a process has locked that is stopped or cut off within a transaction.
    const names = [
      'search_path',
      'statement_timeout',
      'enable_sort',
      'work_mem',
      'idle_in_transaction_session_timeout',
    ];
    const text = 'select array(select current_setting(name) from unnest($1::text[]) as names (name)) as values';
    const ofListings = await db.listing.query({ name: 'settings', text, values: [names] }, reading);
    expect(ofListings.rows).toEqual([{ values: ['place,public', '15s', 'off', '64MB', '15s'] }]);
    const ofOthers = await db.pool.query(text, [names]);
    expect(ofOthers.rows).toEqual([{ values: ['place,public', '1min', 'on', '5MB', '15s'] }]);
    await db.close();
    await drop();
  });

  it.each(['url', 'directUrl'])('waits for any length of time for what runs directly (%s)', async (name) => {
    const { url, drop } = await createServerDatabase();
    const settings = { kind: 'postgres' as const, url, [name]: url };
    const db = await openDatabase(settings);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { rows } = await withDirectPool(settings, db, async (pool) => {
      const client = await pool.connect();
      const slept = client.query('select 1 as one from pg_sleep(0.2)');
      await new Promise(setImmediate);
      vi.advanceTimersByTime(3_600_000);
      return slept.finally(() => client.release());
    });
    expect(rows).toEqual([{ one: 1 }]);
    vi.useRealTimers();
    await db.close();
    await drop();
  });

  it('names the wrong setting, and never the password', async () => {
    const { url, drop } = await createServerDatabase();
    const db = await openDatabase({ kind: 'postgres', url });
    const directUrl = 'postgres://somebody:s3cret@127.0.0.1:1/cadiz';
    const failure = await withDirectPool({ kind: 'postgres', url, directUrl }, db, async () => '').catch(String);
    expect(failure).toContain('Check DATABASE_DIRECT_URL');
    expect(failure).not.toContain('s3cret');
    await db.close();
    await drop();
  });
});

describe.runIf(testableKinds.includes('postgres'))('a database that the service would fail with later', () => {
  const refused = (url: string) => openDatabase({ kind: 'postgres', url }).catch((reason: unknown) => reason);

  it('is refused for its encoding', async () => {
    const { url, drop } = await createServerDatabase("encoding 'LATIN1' locale 'C' template template0");
    onTestFinished(drop);
    expect(String(await refused(url))).toMatch(/: its encoding is LATIN1, .*; create it with encoding 'UTF8' .*\./);
  });

  it('is refused for how it writes times', async () => {
    const { url, drop } = await createServerDatabase();
    onTestFinished(drop);
    const set = new URL(url);
    set.searchParams.set('options', '-c DateStyle=German');
    expect(String(await refused(set.href))).toMatch(/: its DateStyle is German, DMY; set it to ISO or remove it\./);
  });

  it.each([
    ['default_transaction_isolation', 'repeatable read', 'read committed'],
    ['default_transaction_isolation', 'serializable', 'read committed'],
    ['session_replication_role', 'replica', 'origin'],
    ['array_nulls', 'off', 'on'],
    ['idle_session_timeout', '1500ms', '15s or more,'],
    ['idle_session_timeout', '14s', '15s or more,'],
  ])('is refused for its %s (%s)', async (name, value, ordinary) => {
    const { url, drop } = await createServerDatabase();
    onTestFinished(drop);
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    await admin.query(`alter database ${new URL(url).pathname.slice(1)} set ${name} = '${value}'`);
    await admin.end();
    expect(String(await refused(url))).toContain(`: its ${name} is ${value}; set it to ${ordinary} or remove it.`);
  });

  it('is not refused for ending connections that nobody keeps idle for as long', async () => {
    const { url, drop } = await createServerDatabase();
    onTestFinished(drop);
    const set = new URL(url);
    set.searchParams.set('options', '-c idle_session_timeout=15s');
    await (await openDatabase({ kind: 'postgres', url: set.href })).close();
  });

  it('is not refused where the server keeps any bytes', async () => {
    const { url, drop } = await createServerDatabase("encoding 'SQL_ASCII' locale 'C' template template0");
    onTestFinished(drop);
    const db = await openDatabase({ kind: 'postgres', url });
    onTestFinished(() => db.close());
    expect((await db.pool.query('select $1 as name', ['日本 Straße 😀'])).rows).toEqual([{ name: '日本 Straße 😀' }]);
  });
});

describe.runIf(testableKinds.includes('postgres'))('a server that is read-only', () => {
  let db: Database;
  beforeAll(async () => {
    db = await openEmptyDatabase('postgres');
    await db.pool.query('create table notes (id int)');
  });
  afterAll(() => db.close());

  const write = () => db.pool.query('insert into notes values (1)');
  // The pool hands out the connection that was used last.
  const becomeStandby = () => db.pool.query('set default_transaction_read_only = on');

  it('is not healthy', async () => {
    await becomeStandby();
    await expect(db.check()).rejects.toThrow('is read-only');
    await expect(write()).rejects.toMatchObject({ code: '25006' });
    await db.check();
  });

  it('is left after a statement, and after a transaction', async () => {
    await becomeStandby();
    await expect(write()).rejects.toMatchObject({ code: '25006' });
    await write();
    await becomeStandby();
    const inTransaction = db.transaction((trx) => sql`insert into notes values (2)`.execute(trx));
    await expect(inTransaction).rejects.toMatchObject({ code: '25006' });
    await write();
  });
});

describe.runIf(testableKinds.includes('postgres'))('a connection that breaks while it is in use (checklist 49)', () => {
  let wires: Socket[];
  let proxy: Server;
  let db: Database;
  let direct: pg.Client;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const created = await createServerDatabase();
    drop = created.drop;
    const { hostname, port } = new URL(created.url);
    direct = new pg.Client(created.url);
    await direct.connect();
    wires = [];
    proxy = createServer((socket) => {
      const onward = connect(Number(port), hostname);
      for (const wire of [socket, onward]) wires.push(wire.on('error', () => undefined));
      socket.pipe(onward).pipe(socket);
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const proxied = new URL(created.url);
    proxied.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    db = await openDatabase({ kind: 'postgres', url: proxied.href });
  });
  afterAll(async () => {
    await db.close();
    await direct.end();
    proxy.close();
    await drop();
  });

  const ways: Record<string, () => Promise<unknown>> = {
    'by the server': () =>
      direct.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      ),
    'on the way': async () => {
      for (const wire of wires.splice(0)) wire.destroy();
    },
  };
  const sleep = 'select pg_sleep(60)';
  const uses: Record<string, (begun: () => Promise<unknown>) => Promise<unknown>> = {
    'a query': (begun) => Promise.all([db.pool.query(sleep), begun()]),
    'a query of Kysely': (begun) => Promise.all([sql.raw(sleep).execute(db.kysely), begun()]),
    'a listing': (begun) => {
      const { signal } = new AbortController();
      const reading = { pace: 'page' as const, userId: 'ada', projectId: 'project', signal };
      return Promise.all([db.listing.query({ name: 'sleep', text: sleep, values: [] }, reading), begun()]);
    },
    'a transaction': (begun) =>
      db.kysely.transaction().execute(async (trx) => {
        await sql`select 1`.execute(trx);
        await begun();
        await delay(200);
        await sql`select 1`.execute(trx);
      }),
  };
  const cases = Object.keys(ways).flatMap((way) => Object.keys(uses).map((use) => [way, use] as const));

  it.each(cases)('%s: %s fails alone, and the service keeps working', async (way, use) => {
    const breaks = uses[use]?.(async () => {
      await delay(200);
      await ways[way]?.();
    });
    await expect(breaks).rejects.toThrow();
    await expect.poll(() => db.check().then(() => 'up', String)).toBe('up');
  });
});
