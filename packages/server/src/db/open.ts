import { Kysely, PostgresDialect, type Transaction } from 'kysely';
import pg from 'pg';
import { createFairGate } from '../rate-limits/fair-gate.ts';
import { UnusableDependency } from '../telemetry/health.ts';
import type { Trace } from '../telemetry/trace.ts';
import { checkpointRegularly } from './checkpoint-embedded.ts';
import { Client, type ClientConfig, UnnamedClient } from './client.ts';
import { DatabaseUnreachable } from './database-errors.ts';
import { type EmbeddedDatabase, openEmbedded } from './embedded.ts';
import { type Link, watchLink } from './link.ts';
import {
  createListingLane,
  type ListingLane,
  type ListingLimits,
  listingConnections,
  listingSettings,
} from './listing-lane.ts';
import { type Listener, type Notifications, openNotifications } from './notifications.ts';
import { requireSuitable } from './require-suitable.ts';
import { retryConflicts } from './retry-conflicts.ts';
import type { Schema } from './schema.ts';
import { createSessionNotifications } from './session-notifications.ts';
import { tracePool, traceStatement } from './trace-pool.ts';
import { requireReadable, unreachable } from './unreachable.ts';

export type DatabaseSettings = EmbeddedSettings | PostgresSettings;

/** What one project may take of the database. */
interface Shares {
  listings?: ListingLimits;
  /** How many of the pool's connections transactions of one project may hold; half of them by default. */
  projectConnections?: number | undefined;
}

export interface EmbeddedSettings extends Pick<Shares, 'listings'> {
  kind: 'embedded';
  /** The folder of the embedded database. */
  dataDir: string;
}

export interface PostgresSettings extends Shares {
  kind: 'postgres';
  url: string;
  /** Bypasses the pooler at `url`, for migrations. */
  directUrl?: string | undefined;
  /** Whether this pooler keeps what its clients prepare. */
  poolerPrepares?: boolean;
  maxConnections?: number;
}

/** Both databases speak PostgreSQL through `pg`, so the rest of the service does not know which one it uses. */
export interface Database {
  kind: 'embedded' | 'postgres';
  pool: pg.Pool;
  kysely: Kysely<Schema>;
  /**
   * Runs a transaction, and runs it again if PostgreSQL undoes it because of a conflict. So `work` must have no effect
   * outside the database. ARCHITECTURE.md gives the order of locks.
   */
  transaction<T>(work: (trx: Transaction<Schema>) => Promise<T>): Promise<T>;
  /**
   * The same for one project, for transactions that take long, or wait for each other: those of one project can only hold a share
   * of the connections, and projects take turns. Not within another transaction.
   */
  transactionOf<T>(projectId: string, work: (trx: Transaction<Schema>) => Promise<T>): Promise<T>;
  /** As `transactionOf`, for work that may take long without a transaction of its own. */
  inTurn<T>(projectId: string, work: () => Promise<T>): Promise<T>;
  /** Calls the listener each time that `transaction` has committed. */
  onCommit(listener: () => void): void;
  /** Listings use this instead of the pool. */
  listing: ListingLane;
  /** For example `15.14`. */
  serverVersion: string;
  /** Resolves if the database answers, and throws its error otherwise. The caller decides how long to wait. */
  check(): Promise<void>;
  /** Notifies every other process that listens. The embedded database has none. */
  notify(channel: string, payload: string): Promise<void>;
  /** Hears every NOTIFY on a channel, once what sent it has committed: of this process too. */
  listen(channel: string, listener: Listener): Notifications;
  /** Copies the embedded database as it is at one moment to a folder that does not exist yet; undefined for PostgreSQL. */
  copyTo: ((folder: string) => Promise<void>) | undefined;
  /** The same database, whose statements are spans of a recorded trace. What is looked up for several requests together is not. */
  within(trace: Trace): Database;
  /** Resolves with the reason if the embedded database ends on its own. */
  failed: Promise<Error>;
  close(): Promise<void>;
}

const oldestVersion = 15;
const int8 = 20;

/** Reads bigint as a number: sizes and counts stay far below 2^53, and anything larger is a bug that must surface. */
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
 * Opens the database without migrating it. The folder of an embedded one is locked before anything is awaited.
 * @throws DatabaseUnreachable, DatabaseFolderInUse, DatabaseFolderUnwritable, DatabaseFolderUnusable, DatabaseNotDurable
 */
export function openDatabase(settings: DatabaseSettings): Promise<Database> {
  return settings.kind === 'embedded' ? openOnDisk(settings) : openPostgres(settings);
}

async function openOnDisk({ dataDir, listings }: EmbeddedSettings): Promise<Database> {
  return overEmbedded(await openEmbedded(dataDir), listings);
}

/** The database in an embedded one, which is closed with it. */
export function overEmbedded(embedded: EmbeddedDatabase, listings?: ListingLimits): Promise<Database> {
  const notifications = createSessionNotifications();
  const pool = createPool({
    // PGlite has only one session, so its users queue here.
    max: 1,
    idleTimeoutMillis: 0,
    stream: () => embedded.connect(),
    // PGSSLMODE in the environment is meant for other databases.
    ssl: false,
    user: 'postgres',
    database: 'postgres',
    types,
    onConnect: (client) => notifications.onConnect(client),
  });
  const endCheckpoints = checkpointRegularly(pool);
  return wrap('embedded', pool, 1, {
    failed: embedded.failed,
    copyTo: (folder) => embedded.copyTo(folder),
    // Nothing can be cancelled here, so every statement of a listing has to be short.
    listing: createListingLane(pool, { limits: listings, isOnlySession: true }),
    async close() {
      // First: a pool that is ended never answers those who wait for its connection.
      await endCheckpoints();
      await pool.end();
      await embedded.close();
    },
    notify: async () => undefined,
    listen: (channel, listener) => notifications.listen(pool, channel, listener),
  });
}

interface PoolConfig extends pg.PoolConfig, Pick<ClientConfig, 'link'> {}

/**
 * The pool replaces a broken connection, and the query that it fails reports the error to its own caller. The pool
 * listens for errors on idle connections only; an unheard error on one that is in use would end the process.
 */
function createPool(config: PoolConfig): pg.Pool {
  return new pg.Pool({ Client, ...config })
    .on('error', () => undefined)
    .on('connect', (client) => client.on('error', () => undefined));
}

/**
 * How long anything may wait for the database, so that callers are told to retry while it hangs, and a locked table
 * does not hold every connection for ever; and how long the database waits for the next statement of a transaction, so that a
 * process that is stopped or cut off within one does not keep its locks from all others. Behind a pooler, only the last can be set.
 */
const timeouts = {
  statement_timeout: 60_000,
  lock_timeout: 10_000,
  idle_in_transaction_session_timeout: 15_000,
  query_timeout: 300_000,
};

/**
 * Where row-level security hides rows from the user, statements fail. Otherwise, whatever is compared with the rows would count as
 * left over, such as objects, which the janitor then removes. And no statement is compiled: that takes a second or more, hundreds of
 * times as long as the statement itself, where PostgreSQL thinks that much is to be read.
 */
const ownSettings = { row_security: 'off', jit: 'off' };

/** A pooler that only hands connections around, one that keeps what is prepared, or none. */
type Pooler = 'plain' | 'prepares' | undefined;

function createPostgresPool(url: string, max: number, pooler: Pooler, more: PoolConfig = {}): pg.Pool {
  const pool = createPool({
    connectionString: pooler ? url : withSettings(url, ownSettings),
    max,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    application_name: 'cadiz',
    types,
    ...(pooler ? { query_timeout: timeouts.query_timeout } : timeouts),
    ...(pooler === 'plain' && { Client: UnnamedClient }),
    ...more,
  });
  more.link?.watch(pool);
  return pool;
}

/**
 * Behind a pooler, a connection has no settings of its own and the backend process id seen here is not the real one, so
 * nothing is cancelled.
 */
function openListing(
  pool: pg.Pool,
  { url, listings: limits }: PostgresSettings,
  pooler: Pooler,
  link: Link,
): ListingLane {
  const own = createPostgresPool(pooler ? url : withSettings(url, listingSettings), listingConnections, pooler, {
    link,
    ...(!pooler && { statement_timeout: false }),
  });
  const cancel = (client: pg.PoolClient) =>
    pool.query('select pg_cancel_backend($1)', [(client as pg.PoolClient & { processID: number }).processID]);
  return createListingLane(own, { owns: true, limits, ...(pooler ? { setsEachTime: true } : { cancel }) });
}

/** Beside the options of the URL or of PGOPTIONS, such as a search_path: `pg` takes those of only one place. */
function withSettings(url: string, settings: Record<string, string>): string {
  const { connectionParameters } = new pg.Client(url) as pg.Client & { connectionParameters: { options?: string } };
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  const added = new URL(url);
  added.searchParams.set('options', [connectionParameters.options ?? '', ...options].join(' ').trim());
  return added.href;
}

/**
 * Runs something that may take any length of time, such as a migration, over a direct connection: without a pooler, and without
 * a limit on how long a statement is waited for. It ends if the server stops answering new connections as well.
 */
export async function withDirectPool<T>(
  settings: DatabaseSettings,
  db: Database,
  work: (pool: pg.Pool) => Promise<T>,
): Promise<T> {
  if (settings.kind === 'embedded') return work(db.pool);
  const { url, directUrl = url } = settings;
  const link = watchLink(directUrl);
  const pool = createPostgresPool(directUrl, 1, undefined, { link, query_timeout: undefined });
  try {
    const direct = await identify(pool).catch((error: unknown) => {
      throw unreachable(directUrl === url ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL', directUrl, error);
    });
    if (direct !== (await identify(db.pool))) {
      throw new DatabaseUnreachable(
        'DATABASE_DIRECT_URL leads to another database than DATABASE_URL, and nothing was changed: set it to the URL of the server behind the pooler, with the same database.',
      );
    }
    return await work(pool);
  } finally {
    await pool.end();
    link.close();
  }
}

/** Which database of which server a pool uses. */
async function identify(pool: pg.Pool): Promise<string | undefined> {
  const { rows } = await pool.query<{ id: string }>(
    `select current_database() || ' ' || extract(epoch from pg_postmaster_start_time()) as id`,
  );
  return rows[0]?.id;
}

async function openPostgres(settings: PostgresSettings): Promise<Database> {
  const { url, directUrl, maxConnections = 10, projectConnections = Math.ceil(maxConnections / 2) } = settings;
  requireReadable('DATABASE_URL', url);
  if (directUrl !== undefined) requireReadable('DATABASE_DIRECT_URL', directUrl);
  const pooler = directUrl === undefined ? undefined : settings.poolerPrepares ? 'prepares' : 'plain';
  const link = watchLink(url);
  const pool = createPostgresPool(url, maxConnections, pooler, { link });
  const listing = openListing(pool, settings, pooler, link);
  try {
    const database = await wrap('postgres', pool, projectConnections, {
      failed: new Promise(() => undefined),
      copyTo: undefined,
      listing,
      async close() {
        await pool.end();
        await listing.close();
        link.close();
      },
      notify: async (channel, payload) => void (await pool.query('select pg_notify($1, $2)', [channel, payload])),
      listen: (channel, listener) => openNotifications(directUrl ?? url, channel, listener),
    });
    if (Number.parseInt(database.serverVersion, 10) < oldestVersion) {
      throw new Error(`it is version ${database.serverVersion}, but Cadiz needs ${oldestVersion} or newer`);
    }
    // A pooler that hands out a connection for each statement ends it when a transaction begins.
    if (pooler) await database.transaction(async () => undefined);
    return database;
  } catch (error) {
    link.close();
    await pool.end();
    throw unreachable('DATABASE_URL', url, error);
  }
}

async function wrap(
  kind: Database['kind'],
  pool: pg.Pool,
  projectConnections: number,
  { close, ...own }: Pick<Database, 'failed' | 'copyTo' | 'close' | 'notify' | 'listen' | 'listing'>,
): Promise<Database> {
  const serverVersion = await requireSuitable(pool);
  let closed: Promise<void> | undefined;
  const listeners: (() => void)[] = [];
  const turns = createFairGate({
    size: pool.options.max,
    share: projectConnections,
    mostWaiting: Number.POSITIVE_INFINITY,
    mostWaitingEach: Number.POSITIVE_INFINITY,
  });

  async function inTurn<T>(projectId: string, work: () => Promise<T>): Promise<T> {
    const leave = await turns.enter([projectId]);
    return work().finally(leave);
  }

  const database: Database = {
    kind,
    inTurn,
    ...over(pool),
    onCommit: (listener) => void listeners.push(listener),
    serverVersion,
    check: createCheck(pool),
    ...own,
    within(trace) {
      const connections = tracePool(pool, trace);
      const traced: Database = Object.create(database);
      let made: ReturnType<typeof over> | undefined;
      const lazily = () => {
        made ??= over(connections);
        return made;
      };
      // Kysely takes longer to make than most requests take.
      Object.defineProperties(traced, {
        pool: { value: connections },
        kysely: { get: () => lazily().kysely },
        transaction: { get: () => lazily().transaction },
        transactionOf: { get: () => lazily().transactionOf },
        listing: {
          value: {
            ...own.listing,
            query: ((statement, reading) =>
              traceStatement(trace, [statement], () => own.listing.query(statement, reading))) as ListingLane['query'],
          },
        },
      });
      return traced;
    },
    close() {
      closed ??= close();
      return closed;
    },
  };
  return database;

  function over(connections: pg.Pool): Pick<Database, 'pool' | 'kysely' | 'transaction' | 'transactionOf'> {
    const kysely = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: connections }) });
    async function transaction<T>(work: (trx: Transaction<Schema>) => Promise<T>): Promise<T> {
      const result = await retryConflicts(() => kysely.transaction().execute(work));
      for (const listener of listeners) listener();
      return result;
    }
    return {
      pool: connections,
      kysely,
      transaction,
      transactionOf: (projectId, work) => inTurn(projectId, () => transaction(work)),
    };
  }
}

/** Concurrent checks share one query, so that probes of a database that hangs do not pile up. */
function createCheck(pool: pg.Pool): () => Promise<void> {
  let asking: Promise<void> | undefined;
  return () => {
    asking ??= pool
      .query<{ value: string }>(`select current_setting('transaction_read_only') as value`)
      .then(({ rows: [setting] }) => {
        if (setting?.value === 'on') throw new UnusableDependency('is read-only');
      })
      .finally(() => {
        asking = undefined;
      });
    return asking;
  };
}
