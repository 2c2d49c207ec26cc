import { Kysely, PostgresDialect, type Transaction } from 'kysely';
import pg from 'pg';
import { Client, UnnamedClient } from './client.ts';
import { DatabaseUnreachable } from './database-errors.ts';
import { openEmbedded } from './embedded.ts';
import { createListingLane, type ListingLane, listingConnections, listingSettings } from './listing-lane.ts';
import { type Listener, type Notifications, openNotifications } from './notifications.ts';
import { retryConflicts } from './retry-conflicts.ts';
import type { Schema } from './schema.ts';
import { createSessionNotifications } from './session-notifications.ts';

export type DatabaseSettings =
  /** The folder of the embedded database. */
  { kind: 'embedded'; dataDir: string } | PostgresSettings;

export interface PostgresSettings {
  kind: 'postgres';
  url: string;
  /** Goes past the pooler that stands at `url`: for migrations. */
  directUrl?: string | undefined;
  maxConnections?: number;
}

/** Both databases speak PostgreSQL through `pg`, so the rest of the service does not know which one it is. */
export interface Database {
  kind: 'embedded' | 'postgres';
  pool: pg.Pool;
  kysely: Kysely<Schema>;
  /**
   * Runs a transaction, and runs it anew when PostgreSQL undoes it because it got in the way of another one: so its work
   * has no effect beyond the database. The order of locks is in ARCHITECTURE.md.
   */
  transaction<T>(work: (trx: Transaction<Schema>) => Promise<T>): Promise<T>;
  /** What listings use instead of the pool. */
  listing: ListingLane;
  /** Such as `15.14`. */
  serverVersion: string;
  /** Resolves when the database answers, and throws its error otherwise. Whoever asks decides how long to wait. */
  check(): Promise<void>;
  /** Tells every other process that listens. On the embedded database there is none. */
  notify(channel: string, payload: string): Promise<void>;
  /** Hears every NOTIFY on a channel, once what sent it has committed: of this process too. */
  listen(channel: string, listener: Listener): Notifications;
  /** Resolves with the reason if the embedded database ends without having been asked to. */
  failed: Promise<Error>;
  close(): Promise<void>;
}

const oldestVersion = 15;
const int8 = 20;

/** bigint as number: sizes and counts stay far below 2^53, and anything else is a mistake that must be seen. */
function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint ${text} is too large for a number`);
  return value;
}

const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === int8 && format !== 'binary' ? parseInt8 : pg.types.getTypeParser(oid, format),
};

/**
 * Opens the database without migrating it.
 * @throws DatabaseUnreachable, DatabaseFolderInUse, DatabaseFolderUnwritable, DatabaseFolderUnusable, DatabaseNotDurable
 */
export function openDatabase(settings: DatabaseSettings): Promise<Database> {
  return settings.kind === 'embedded' ? openOnDisk(settings.dataDir) : openPostgres(settings);
}

async function openOnDisk(dataDir: string): Promise<Database> {
  const embedded = await openEmbedded(dataDir);
  const notifications = createSessionNotifications();
  const pool = createPool({
    // One session is all that PGlite has: whoever wants it waits for it here.
    max: 1,
    idleTimeoutMillis: 0,
    stream: () => embedded.connect(),
    // PGSSLMODE in the environment is meant for others.
    ssl: false,
    user: 'postgres',
    database: 'postgres',
    types,
    onConnect: (client) => notifications.onConnect(client),
  });
  return wrap('embedded', pool, {
    failed: embedded.failed,
    // Nothing can be cancelled here, so every statement of a listing has to be short.
    listing: createListingLane(pool),
    close: () => embedded.close(),
    notify: async () => undefined,
    listen: (channel, listener) => notifications.listen(pool, channel, listener),
  });
}

/**
 * A connection that breaks is replaced by the pool, and a query that fails for it tells its own caller. The pool hears of idle
 * ones only; of one that is lent out nobody would hear, and that ends the process.
 */
function createPool(config: pg.PoolConfig): pg.Pool {
  return new pg.Pool({ Client, ...config })
    .on('error', () => undefined)
    .on('connect', (client) => client.on('error', () => undefined));
}

/**
 * How long anything may wait for the database, so that whoever asks is told to come again while it hangs, and one table
 * that is locked does not take every connection for good. Behind a pooler only the last can be set.
 */
const patience = { statement_timeout: 60_000, lock_timeout: 10_000, query_timeout: 300_000 };

function createPostgresPool(url: string, max: number, isPooled: boolean, more: pg.PoolConfig = {}): pg.Pool {
  return createPool({
    connectionString: url,
    max,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    application_name: 'cadiz',
    types,
    ...(isPooled ? { Client: UnnamedClient, query_timeout: patience.query_timeout } : patience),
    ...more,
  });
}

/**
 * Behind a pooler a connection has no settings of its own, and its process is not the one that is seen here, so nothing
 * is cancelled there.
 */
function openListing(pool: pg.Pool, url: string, isPooled: boolean): ListingLane {
  const options = Object.entries(listingSettings).map(([name, value]) => `-c ${name}=${value}`);
  const own = createPostgresPool(
    url,
    listingConnections,
    isPooled,
    isPooled ? {} : { options: options.join(' '), statement_timeout: false },
  );
  const cancel = (client: pg.PoolClient) =>
    pool.query('select pg_cancel_backend($1)', [(client as pg.PoolClient & { processID: number }).processID]);
  return createListingLane(own, { owns: true, ...(isPooled ? { setsEachTime: true } : { cancel }) });
}

/** Does something over a connection that no pooler stands in, such as migrating. */
export async function withDirectPool<T>(
  settings: DatabaseSettings,
  db: Database,
  work: (pool: pg.Pool) => Promise<T>,
): Promise<T> {
  if (settings.kind === 'embedded' || settings.directUrl === undefined) return work(db.pool);
  const { directUrl } = settings;
  const pool = createPostgresPool(directUrl, 1, false);
  try {
    await pool.query('select 1').catch((error: unknown) => {
      throw unreachable('DATABASE_DIRECT_URL', directUrl, error);
    });
    return await work(pool);
  } finally {
    await pool.end();
  }
}

async function openPostgres({ url, directUrl, maxConnections = 10 }: PostgresSettings): Promise<Database> {
  const pool = createPostgresPool(url, maxConnections, directUrl !== undefined);
  const listing = openListing(pool, url, directUrl !== undefined);
  try {
    const database = await wrap('postgres', pool, {
      failed: new Promise(() => undefined),
      listing,
      close: () => listing.close(),
      notify: async (channel, payload) => void (await pool.query('select pg_notify($1, $2)', [channel, payload])),
      listen: (channel, listener) => openNotifications(directUrl ?? url, channel, listener),
    });
    if (Number.parseInt(database.serverVersion, 10) < oldestVersion) {
      throw new Error(`it is version ${database.serverVersion}, and Cadiz needs ${oldestVersion} or newer`);
    }
    return database;
  } catch (error) {
    await pool.end();
    throw unreachable('DATABASE_URL', url, error);
  }
}

function unreachable(setting: string, url: string, error: unknown): DatabaseUnreachable {
  // A host with several addresses fails with one error for each.
  const reason = error instanceof AggregateError ? error.errors.map(toMessage).join('; ') : toMessage(error);
  const { host, database, port } = new pg.Client(url);
  return new DatabaseUnreachable(
    `The PostgreSQL database ${database} at ${host}:${port} cannot be used: ${reason}. Check ${setting}, and that the server runs.`,
  );
}

function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function wrap(
  kind: Database['kind'],
  pool: pg.Pool,
  { close, ...own }: Pick<Database, 'failed' | 'close' | 'notify' | 'listen' | 'listing'>,
): Promise<Database> {
  const { rows } = await pool.query<{ version: string; told: string }>(
    `select current_setting('server_version') as version, current_setting('client_min_messages') as told`,
  );
  const { version, told } = rows[0] ?? { version: '', told: '' };
  // A warning says when a commit was not replicated.
  if (told === 'error') throw new Error('its client_min_messages is error: set it to warning, or leave it out');
  const kysely = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
  let closed: Promise<void> | undefined;
  return {
    kind,
    pool,
    kysely,
    transaction: (work) => retryConflicts(() => kysely.transaction().execute(work)),
    serverVersion: version,
    check: createCheck(pool),
    ...own,
    close() {
      closed ??= pool.end().then(close);
      return closed;
    },
  };
}

/** Checks that come while one is under way share it, so that probes of a database that hangs do not pile up. */
function createCheck(pool: pg.Pool): () => Promise<void> {
  let asking: Promise<void> | undefined;
  return () => {
    asking ??= pool
      .query('select 1')
      .then(() => undefined)
      .finally(() => {
        asking = undefined;
      });
    return asking;
  };
}
