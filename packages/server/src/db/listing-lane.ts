import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createFairGate } from '../rate-limits/fair-gate.ts';
import { ListingTooSlow, TooManyListings } from './database-errors.ts';

/** How many pages are read at once. */
const pagesAtOnce = 2;
/** Shared by all streams: one connection reads a million files as fast as several. */
const streamsAtOnce = 1;
/** Above this share of working time, something is waiting for the thread. */
const busyUtilization = 0.8;
/**
 * How long others may go first after a page, in times of what its statement took. The service takes about as long again for a
 * page as the database, so this leaves others half of a core that both share, however the system divides it.
 */
const pauseFactor = 2;
/** If no other request comes for so long, pages need not let any go first. */
const quietMilliseconds = 1;
export const listingConnections = pagesAtOnce + streamsAtOnce;
/**
 * Settings of a connection for listings. A page must come out of an index in its order, whatever the statistics say;
 * sorting and full table scans are for queries that no index serves. JIT compilation pays off for a report, but costs a
 * page a hundred times its own time. The matches of the name index have to fit into memory, or each name on its pages
 * is cut into grams again. No statement of a listing takes seconds unless the database is in trouble.
 */
export const listingSettings = {
  enable_seqscan: 'off',
  enable_sort: 'off',
  enable_incremental_sort: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  work_mem: '64MB',
  statement_timeout: '15s',
};
const pagesWaiting = 256;

/** How a statement of a listing is run. */
export interface Reading {
  /** A page that a client waits for, or the next piece of a long stream, which lets pages go first. */
  pace: 'page' | 'stream';
  /** The account it runs for: accounts take turns. */
  userId: string;
  /** Aborts when nobody waits for the result any more. */
  signal: AbortSignal;
}

/**
 * The path of listings to the database. They have their own budget, so that however many listings run, a presign or a
 * record waits for no more than their few statements.
 */
export interface ListingLane {
  /**
   * Runs one statement. If `signal` aborts, a waiting statement is not sent, and a running one is cancelled if the
   * database supports it.
   * @throws TooManyListings, ListingTooSlow, the signal's reason
   */
  query<R extends pg.QueryResultRow>(statement: pg.QueryConfig, reading: Reading): Promise<pg.QueryResult<R>>;
  /**
   * To be called for every request that is not a listing. While such requests keep coming, pages run one at a time, and
   * each is followed by a pause, so that they have half of the time even on a core that PostgreSQL and the service share.
   */
  giveWay(): void;
  /** Closes its own connections but not shared ones. */
  close(): Promise<void>;
}

interface LaneOptions {
  /** Whether the lane owns the connections. */
  owns?: boolean;
  /** Stops a connection's running statement, from another connection. */
  cancel?: (client: pg.PoolClient) => Promise<unknown>;
  /** Whether every statement carries the settings, because the connection cannot keep its own. */
  setsEachTime?: boolean;
}

export function createListingLane(pool: pg.Pool, options: LaneOptions = {}): ListingLane {
  /** How many requests other than listings there have been. */
  let others = 0;
  let givesWay = false;

  /** Lets others go first for a while, unless no more come. */
  async function pauseForOthers(milliseconds: number): Promise<void> {
    const until = performance.now() + milliseconds;
    do {
      const before = others;
      await delay(quietMilliseconds, undefined, { ref: false });
      givesWay = others !== before;
    } while (givesWay && performance.now() < until);
  }

  const gates = {
    page: createFairGate({
      // A core that PostgreSQL and the service share is divided among all that runs on it.
      size: () => (givesWay ? 1 : pagesAtOnce),
      share: pagesAtOnce,
      mostWaiting: pagesWaiting,
      mostWaitingEach: pagesWaiting / 2,
    }),
    stream: createFairGate({
      size: streamsAtOnce,
      share: streamsAtOnce,
      mostWaiting: Number.POSITIVE_INFINITY,
      mostWaitingEach: Number.POSITIVE_INFINITY,
    }),
  };
  return {
    giveWay() {
      others += 1;
    },
    async query(statement, { pace, userId, signal }) {
      const leave = await gates[pace].enter([userId], signal);
      if (!leave) throw new TooManyListings();
      const othersBefore = others;
      const measureThread = startThreadMeasure();
      try {
        return await run(pool, statement, signal, options);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof pg.DatabaseError && error.code === '57014') throw new ListingTooSlow(error);
        throw error;
      } finally {
        const { milliseconds, utilization } = measureThread();
        if (pace === 'page') {
          givesWay = others !== othersBefore;
          if (givesWay) void pauseForOthers(pauseFactor * milliseconds).then(leave);
          else leave();
        } else if (utilization > busyUtilization) {
          // While others need the thread, the streams together take at most half of its time.
          void delay(milliseconds, undefined, { ref: false }).then(leave);
        } else leave();
      }
    },
    async close() {
      if (options.owns) await pool.end();
    },
  };
}

async function run<R extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: pg.QueryConfig,
  signal: AbortSignal,
  { cancel, setsEachTime }: LaneOptions,
): Promise<pg.QueryResult<R>> {
  const client = await pool.connect();
  let cancelling: Promise<unknown> | undefined;
  const stop = () => {
    // If even this fails, the statement's own time limit ends it.
    cancelling = cancel?.(client).catch(() => undefined);
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    signal.throwIfAborted();
    return setsEachTime ? await withSettings(client, statement) : await client.query<R>(statement);
  } finally {
    signal.removeEventListener('abort', stop);
    await cancelling;
    // A cancellation can arrive late and must not hit the next statement on this connection.
    client.release(cancelling !== undefined);
  }
}

const setAll = Object.entries(listingSettings).map(([name, value]) => `set local ${name} = '${value}'`);

async function withSettings<R extends pg.QueryResultRow>(
  client: pg.PoolClient,
  statement: pg.QueryConfig,
): Promise<pg.QueryResult<R>> {
  await client.query(['begin read only', ...setAll].join('; '));
  try {
    return await client.query<R>(statement);
  } finally {
    await client.query('rollback');
  }
}

/** Starts measuring; the function it returns says how much time has passed and how much of it this thread worked. */
function startThreadMeasure(): () => { milliseconds: number; utilization: number } {
  const started = performance.now();
  const before = performance.eventLoopUtilization();
  return () => ({
    milliseconds: performance.now() - started,
    utilization: performance.eventLoopUtilization(before).utilization,
  });
}
