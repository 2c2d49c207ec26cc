import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createServerDatabase, testableKinds } from '../../test/database.ts';
import { MigrationFailed, migrate } from '../db/migrate.ts';
import { openDatabase } from '../db/open.ts';
import { unreachable } from '../db/unreachable.ts';
import { createS3Store } from '../store/s3-store.ts';
import { toSentence } from './start-error.ts';

/** An object store as the service knows it, in whose place this server answers. */
async function openStoreAt(server: Server, protocol = 'http') {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const endpoint = `${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const keys = { accessKeyId: 'id', secretAccessKey: 'secret', bucket: 'b', region: 'us-east-1', presignTtlSeconds: 9 };
  const store = createS3Store({ ...keys, endpoint, publicEndpoint: endpoint }, Date.now);
  onTestFinished(() => {
    store.close();
    server.close();
  });
  return store;
}

test.each([
  [
    'a name that nobody has',
    'nowhere..invalid',
    /^The host name nowhere\.\.invalid cannot be looked up \(\w+\): .* HOST\.$/,
  ],
  ['an address of another machine', '203.0.113.7', /^HOST=203\.0\.113\.7 is not an IP address of this machine: .*\.$/],
])('a service that should listen on %s says which setting is wrong', async (_, host, sentence) => {
  const [error] = await once(createServer().listen({ host, port: 0 }), 'error').catch((caught) => [caught]);
  expect(toSentence(error)).toMatch(sentence);
});

test.each([
  [
    'another protocol',
    'https',
    /: it does not speak TLS \(\w+\)\. Check S3_ENDPOINT: it may have to start with http:\/\/\.$/,
  ],
  [
    'no protocol',
    'http',
    /: it does not speak HTTP \(\w+\)\. Check S3_ENDPOINT: it may have to start with https:\/\/\.$/,
  ],
])('an object store that speaks %s', async (_, protocol, sentence) => {
  const store = await openStoreAt(
    createServer((socket) => socket.end('220 Hello\r\n')),
    protocol,
  );
  const error: unknown = await store.prepare().catch((reason: unknown) => reason);
  expect(toSentence(error)).toMatch(sentence);
});

test('an object store that answers for another bucket says once what to check', async () => {
  const store = await openStoreAt(createHttpServer((_, response) => response.writeHead(403).end()));
  const error: unknown = await store.check().catch((reason: unknown) => reason);
  expect(toSentence(error)).toMatch(
    /answered 403 for the bucket "b"\. Check S3_BUCKET.*; `npm run doctor` finds out which\.$/,
  );
});

test('an object store whose disk is full says so, and not that it may be down', async () => {
  const store = await openStoreAt(createHttpServer((_, response) => response.writeHead(507).end()));
  const error: unknown = await store.createMultipart('key').catch((reason: unknown) => reason);
  expect(toSentence(error)).toBe('The object store answered 507: its disk is full. Check its log, and S3_ENDPOINT.');
});

test.each([
  [
    'a file that is not there',
    '?sslmode=verify-full&sslrootcert=/nowhere/ca.crt',
    /no such file or directory, open '\/nowhere\/ca\.crt'/,
  ],
  ['a file that cannot be read', '?sslmode=verify-full&sslrootcert=/', /illegal operation on a directory/],
])('a DATABASE_URL that names %s', async (_, query, reason) => {
  const url = `postgres://cadiz:hidden@127.0.0.1:1/cadiz${query}`;
  const told = toSentence(await openDatabase({ kind: 'postgres', url }).catch((error: unknown) => error));
  expect(told).toMatch(/^DATABASE_URL cannot be used: .*\. Check the files that it names, .*\.$/);
  expect(told).toMatch(reason);
  const direct = { kind: 'postgres' as const, url: 'postgres://127.0.0.1:1/cadiz', directUrl: url };
  const ofDirect = toSentence(await openDatabase(direct).catch((error: unknown) => error));
  expect(ofDirect).toMatch(/^DATABASE_DIRECT_URL cannot be used: /);
});

test('a DATABASE_URL that is encoded wrongly is said to be so, without its password', async () => {
  const url = 'postgres://cadiz:hidden%ff@127.0.0.1:1/cadiz';
  const told = toSentence(await openDatabase({ kind: 'postgres', url }).catch((error: unknown) => error));
  expect(told).toMatch(/^DATABASE_URL cannot be used: URI malformed\. .* how its password is encoded\.$/);
});

test('a migration that fails for a reason of its own is named', () => {
  const told = toSentence(new MigrationFailed('0003-three.sql', new Error('division by zero')));
  expect(told).toBe('The migration 0003-three.sql failed, and nothing was changed: division by zero.');
});

describe.runIf(testableKinds.includes('postgres'))('on PostgreSQL', () => {
  /** The database of somebody else, for a new user. */
  async function createStrange() {
    const { url, drop } = await createServerDatabase();
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    const { username, pathname } = Object.assign(new URL(url), {
      username: `stranger_${randomBytes(4).toString('hex')}`,
    });
    await owner.query(`create role ${username} login`);
    onTestFinished(async () => {
      await owner.query(`drop owned by ${username}; drop role ${username}`);
      await owner.end();
      await drop();
    });
    const strange = Object.assign(new URL(url), { username }).href;
    return { url: strange, database: pathname.slice(1), query: (sql: string) => owner.query(sql) };
  }

  test('a database whose connections are all in use is said to be so', async () => {
    const { url, query } = await createStrange();
    await query(`alter role ${new URL(url).username} connection limit 0`);
    const error: unknown = await openDatabase({ kind: 'postgres', url }).catch((reason: unknown) => reason);
    expect(toSentence(error)).toMatch(
      / cannot be used: too many connections .*\. All connections .* are in use: .*\.$/,
    );
  });

  test('a database that the user may not connect to is not taken for a folder', async () => {
    const { url, database, query } = await createStrange();
    await query(`revoke connect on database ${database} from public`);
    const error: unknown = await openDatabase({ kind: 'postgres', url }).catch((reason: unknown) => reason);
    expect(toSentence(error)).toMatch(
      /^The PostgreSQL database \S+ at \S+ cannot be used: permission denied for database .*\. Check DATABASE_URL, .*\.$/,
    );
  });

  test.each([
    [
      'whose user may not create tables',
      '',
      'The PostgreSQL user is not allowed to do what this takes (permission denied for schema public): make it the owner of its database and of the tables.',
    ],
    [
      'without a schema',
      'drop schema public',
      'The PostgreSQL database has no schema for the tables (no schema has been selected to create in): create one that is in its search_path, such as public.',
    ],
  ])('a database %s is said to be so', async (_, sql, sentence) => {
    const { url, query } = await createStrange();
    if (sql) await query(sql);
    const pool = new pg.Pool({ connectionString: url });
    onTestFinished(() => pool.end());
    expect(toSentence(await migrate(pool).catch((reason: unknown) => reason))).toBe(sentence);
  });

  test('a database of another program is said to be so, and left as it is', async () => {
    const { url, drop } = await createServerDatabase();
    const pool = new pg.Pool({ connectionString: url });
    onTestFinished(async () => {
      await pool.end();
      await drop();
    });
    await pool.query('create table users (id int)');
    expect(toSentence(await migrate(pool).catch((reason: unknown) => reason))).toBe(
      'The PostgreSQL database has tables of another program (relation "users" already exists): set DATABASE_URL to a database that Cadiz has for itself.',
    );
    const { rows } = await pool.query(`select relname from pg_class where relnamespace = 'public'::regnamespace`);
    expect(rows).toEqual([{ relname: 'users' }]);
  });

  test('a database whose disk is full is said to be so, also where nobody can connect to it', async () => {
    const { url, drop } = await createServerDatabase();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const full = `do $$ begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$`;
    const error: unknown = await client.query(full).catch((reason: unknown) => reason);
    await client.end();
    await drop();
    expect(toSentence(error)).toBe(
      'The disk of the database is full (could not extend file: No space left on device): make room there.',
    );
    expect(toSentence(unreachable('DATABASE_URL', url, error))).toMatch(
      / cannot be used: could not extend file: .*\. Its disk is full: make room there\.$/,
    );
  });

  test('a database that is read-only is said to be so', async () => {
    const { url, drop } = await createServerDatabase();
    const client = new pg.Client({ connectionString: url, options: '-c default_transaction_read_only=on' });
    await client.connect();
    const error: unknown = await client.query('create table t ()').catch((reason: unknown) => reason);
    await client.end();
    await drop();
    expect(toSentence(error)).toMatch(/^The PostgreSQL database is read-only, .* DATABASE_URL .*\.$/);
  });
});
