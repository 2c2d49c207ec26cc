import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createFairGate } from '../rate-limits/fair-gate.ts';
import { ListingTooSlow, TooManyListings } from './database-errors.ts';

/** So many pages are read at once. */
const pagesAtOnce = 2;
/** All the streams together: one reads a million files as fast with a connection as with several. */
const streamsAtOnce = 1;
/** A thread that works for more of its time than this has somebody waiting. */
const busyThread = 0.8;
export const listingConnections = pagesAtOnce + streamsAtOnce;
/**
 * What a connection for listings is told. A page has to come out of an index in its order, whatever the statistics say:
 * sorting and reading a whole table are for what has no index. Compiling pays for a report, and costs a page a hundred times its own time. What the index
 * of names finds has to fit into memory, or each name on its pages is cut into grams again. And no statement of a listing
 * takes seconds unless the database is in trouble.
 */
export const listingSettings = {
  enable_seqscan: 'off',
  enable_sort: 'off',
  enable_incremental_sort: 'off',
  jit: 'off',
  work_mem: '64MB',
  statement_timeout: '15s',
};
const pagesWaiting = 256;

/** How a statement of a listing is run. */
export interface Reading {
  /** A page that somebody waits for, or the next piece of something long, which lets pages go first. */
  pace: 'page' | 'stream';
  /** Whose account it is for: accounts take turns. */
  userId: string;
  /** Aborts when nobody waits for it any more. */
  signal: AbortSignal;
}

/**
 * The way of listings to the database: a budget of their own, so that however many list, a presign or a record waits
 * for no more than their few statements.
 */
export interface ListingLane {
  /**
   * One statement. When `signal` aborts, one that waits is not sent, and one that runs is cancelled where the database can.
   * @throws TooManyListings, ListingTooSlow, the signal's reason
   */
  query<R extends pg.QueryResultRow>(statement: pg.QueryConfig, reading: Reading): Promise<pg.QueryResult<R>>;
  /** Ends its own connections; those that it shares stay. */
  close(): Promise<void>;
}

interface LaneOptions {
  /** Whether the connections are its own. */
  owns?: boolean;
  /** Stops what runs on a connection, from another one. */
  cancel?: (client: pg.PoolClient) => Promise<unknown>;
  /** Whether the settings come with each statement, since a connection cannot have its own. */
  setsEachTime?: boolean;
}

export function createListingLane(pool: pg.Pool, options: LaneOptions = {}): ListingLane {
  const gates = {
    page: createFairGate({
      size: pagesAtOnce,
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
    async query(statement, { pace, userId, signal }) {
      const leave = await gates[pace].enter([userId], signal);
      if (!leave) throw new TooManyListings();
      const measureThread = startThreadMeasure();
      try {
        return await run(pool, statement, signal, options);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof pg.DatabaseError && error.code === '57014') throw new ListingTooSlow(error);
        throw error;
      } finally {
        const { milliseconds, utilization } = measureThread();
        // While others want the thread, the streams together take half of the time, and not all that they can get.
        if (pace === 'stream' && utilization > busyThread)
          void delay(milliseconds, undefined, { ref: false }).then(leave);
        else leave();
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
    // A cancellation can arrive late, and must not meet the next statement of this connection.
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

/** From now on until it is called: how long that was, and how much of it this thread worked. */
function startThreadMeasure(): () => { milliseconds: number; utilization: number } {
  const started = performance.now();
  const before = performance.eventLoopUtilization();
  return () => ({
    milliseconds: performance.now() - started,
    utilization: performance.eventLoopUtilization(before).utilization,
  });
}
