import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createServerDatabase, testableKinds } from '../../test/database.ts';
import { LinkDown } from './link.ts';
import { type Database, openDatabase } from './open.ts';

describe.runIf(testableKinds.includes('postgres'))('a link to PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof createServerDatabase>>;
  let db: Database;
  let isCut = false;
  const wires = new Set<Socket>();
  const proxy = createServer((from) => {
    wires.add(from.on('error', () => undefined));
    if (!isCut) forward(from);
  });

  function forward(from: Socket): void {
    const { hostname, port } = new URL(server.url);
    const to = connect(Number(port || 5432), hostname).on('error', () => undefined);
    wires.add(to);
    from.pipe(to).on('close', () => from.destroy());
    to.pipe(from).on('close', () => to.destroy());
  }

  /** Nothing arrives any more, and nobody is told: what is open stays open, and so does what is opened. */
  function cut(): void {
    isCut = true;
    for (const wire of wires) {
      wire.unpipe();
      wire.pause();
    }
  }

  function mend(): void {
    isCut = false;
    for (const wire of wires) wire.destroy();
    wires.clear();
  }

  beforeAll(async () => {
    server = await createServerDatabase();
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const url = new URL(server.url);
    url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    db = await openDatabase({ kind: 'postgres', url: url.href, maxConnections: 2 });
  });
  afterEach(mend);
  afterAll(async () => {
    await db.close();
    mend();
    proxy.close();
    await server.drop();
  });

  const isUp = () =>
    db.pool.query('select 1').then(
      () => true,
      () => false,
    );

  it('that loses everything fails what waits for it, whether it is connected or not, and what comes next at once', async () => {
    const sleeps = Array.from({ length: 2 }, () => db.pool.query('select pg_sleep(60)'));
    const listing = db.listing.query(
      { name: 'sleep', text: 'select pg_sleep(50)', values: [] },
      { pace: 'page', userId: 'ada', projectId: 'project', signal: new AbortController().signal },
    );
    const waits = [...sleeps, listing, db.transaction((trx) => trx.selectFrom('users').selectAll().execute())];
    const failed = Promise.allSettled(waits);
    await expect.poll(() => db.pool.idleCount).toBe(0);
    cut();
    for (const { status } of await failed) expect(status).toBe('rejected');
    await expect(db.pool.query('select 1')).rejects.toThrow(LinkDown);
    await expect(db.check()).rejects.toThrow(LinkDown);
    mend();
    await expect.poll(isUp, { timeout: 10_000 }).toBe(true);
  }, 60_000);

  it('that nothing was connected to is noticed, too', async () => {
    await expect.poll(isUp, { timeout: 10_000 }).toBe(true);
    for (const wire of wires) wire.destroy();
    await expect.poll(() => db.pool.totalCount).toBe(0);
    cut();
    await expect(db.pool.query('select 1')).rejects.toThrow(LinkDown);
    mend();
    await expect.poll(isUp, { timeout: 10_000 }).toBe(true);
  }, 60_000);

  it('is not ended while a statement takes long, or waits for a lock', async () => {
    const blocker = new pg.Client(server.url);
    await blocker.connect();
    await blocker.query('begin; create table held (); select pg_advisory_xact_lock(1)');
    const locked = db.pool.query('select pg_advisory_lock(1), pg_backend_pid() as pid');
    await db.pool.query('select pg_sleep(7)');
    await blocker.query('rollback');
    await blocker.end();
    expect((await locked).rowCount).toBe(1);
  }, 60_000);
});
