import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createBoundedCache } from '../bounded-cache.ts';
import { createFairGate } from '../rate-limits/fair-gate.ts';
import { IndexUsedUp, ListingTooSlow, TooManyListings } from './database-errors.ts';

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
/** If no other request comes for this long, pages need not let any go first. */
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
/** For this long after a request that is not a listing, more of them are expected. */
const sharedMilliseconds = 1000;

/** What listings of one project may take. */
export interface ListingLimits {
  /** How many pages are read at once for one project. */
  atOnce: number;
  /** How many statements for pages may wait for one project. */
  waiting: number;
}

const defaultListingLimits: ListingLimits = { atOnce: pagesAtOnce, waiting: pagesWaiting / 2 };

/** How much one statement of a listing does at most: what else needs the database, or the thread, waits for so long. */
export interface Portion {
  /** Rows that are answered. */
  rows: number;
  /** Rows that are examined for a page, by its first statement and by the next ones, where not all of them are answered. */
  first: number;
  next: number;
  /** The same for the first statement of a count. */
  counted: number;
  /** Matches of an index that are collected; none if such indexes are not to be used. */
  found: number;
}

/** While no other requests come. */
export const wholePortion: Portion = { rows: 1000, first: 5000, next: 20_000, counted: 50_000, found: 100_000 };
/**
 * An index of names collects all matches, however few are wanted. Where others wait for that, a statement of a project that took
 * longer than this counts: a project may have 600 ms of them at once, and a hundredth of the time in the long run, so that one in a
 * hundred requests of others notices it.
 */
const longMilliseconds = 20;
const longFactor = 100;
const burstMilliseconds = 600;
/** While other requests come: a statement of PostgreSQL delays none, but its rows take the thread, here for half a millisecond. */
const smallPortion: Portion = { ...wholePortion, rows: 50 };
/** The same where statements run one after the other: some two milliseconds each. */
export const smallestPortion: Portion = { ...smallPortion, first: 1000, next: 1000, counted: 1000, found: 2000 };

/** How a statement of a listing is run. */
export interface Reading {
  /** A page that a client waits for, or the next piece of a long stream, which lets pages go first. */
  pace: 'page' | 'stream';
  /** The project that is listed, and the account it is listed for: both take turns. */
  projectId: string;
  userId: string;
  /** Whether it reads an index of names or metadata, which can take long: then it throws IndexUsedUp if the project may not do that now. */
  isFind?: boolean;
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
   * To be called for every request that is not a listing. While such requests keep coming, statements run one at a time and do
   * less each, and each is followed by a pause, so that others have half of the time even on a core that PostgreSQL and the
   * service share.
   */
  giveWay(): void;
  /** How much the next statement for a project may do. */
  portion(projectId: string): Portion;
  /** Closes its own connections but not shared ones. */
  close(): Promise<void>;
}

interface LaneOptions {
  limits?: ListingLimits | undefined;
  /** Whether all statements of the database run one after the other. */
  isOnlySession?: boolean;
  /** Whether the lane owns the connections. */
  owns?: boolean;
  /** Stops a connection's running statement, from another connection. */
  cancel?: (client: pg.PoolClient) => Promise<unknown>;
  /** Whether every statement carries the settings, because the connection cannot keep its own. */
  setsEachTime?: boolean;
}

/** @param pool `listingConnections` of the lane's own, or the one session of the embedded database */
export function createListingLane(pool: pg.Pool, options: LaneOptions = {}): ListingLane {
  const { limits = defaultListingLimits, isOnlySession = false } = options;
  /** How many requests other than listings there have been, and when the last one came. */
  let others = 0;
  let lastOther = Number.NEGATIVE_INFINITY;
  /** When what each project has used of indexes of names and metadata is paid off: times of `performance.now()`. */
  const paidOffAt = createBoundedCache<number>(1000);
  const isShared = () => performance.now() - lastOther < sharedMilliseconds;

  /** Lets others go first for a while, unless no more come. */
  async function pauseForOthers(milliseconds: number): Promise<void> {
    const until = performance.now() + milliseconds;
    let before: number;
    do {
      before = others;
      await delay(quietMilliseconds, undefined, { ref: false });
    } while (others !== before && performance.now() < until);
  }

  const gates = {
    page: createFairGate({
      size: () => (isShared() ? 1 : pagesAtOnce),
      share: [limits.atOnce, pagesAtOnce],
      mostWaiting: pagesWaiting,
      mostWaitingEach: [limits.waiting, pagesWaiting / 2],
    }),
    stream: createFairGate({
      size: streamsAtOnce,
      share: streamsAtOnce,
      mostWaiting: Number.POSITIVE_INFINITY,
      mostWaitingEach: Number.POSITIVE_INFINITY,
    }),
  };
  // A core that PostgreSQL and the service share is divided among all that runs on it.
  const narrow = createFairGate({
    size: () => (isShared() ? 1 : listingConnections),
    share: listingConnections,
    mostWaiting: Number.POSITIVE_INFINITY,
    mostWaitingEach: Number.POSITIVE_INFINITY,
  });

  /** Resolves when it is the turn of a statement, with a function to end that turn. @throws TooManyListings */
  async function takeTurn({ pace, projectId, userId, signal }: Reading): Promise<() => void> {
    const leaveGate = await gates[pace].enter([projectId, userId], signal);
    if (!leaveGate) throw new TooManyListings();
    const leaveNarrow = await narrow.enter([pace], signal).catch((error: unknown) => {
      leaveGate();
      throw error;
    });
    return () => {
      leaveNarrow?.();
      leaveGate();
    };
  }

  function portion(projectId: string): Portion {
    if (!isShared()) return wholePortion;
    if (!isOnlySession) return smallPortion;
    const owed = (paidOffAt.get(projectId) ?? 0) - performance.now();
    const mayFind = owed <= longFactor * burstMilliseconds;
    return mayFind ? smallestPortion : { ...smallestPortion, found: 0 };
  }

  return {
    giveWay() {
      others += 1;
      lastOther = performance.now();
    },
    portion,
    async query(statement, reading) {
      const { pace, signal, projectId, isFind } = reading;
      const leave = await takeTurn(reading);
      // Many can have been allowed while the first of them waited for its turn.
      if (isFind && portion(projectId).found === 0) {
        leave();
        throw new IndexUsedUp();
      }
      const othersBefore = others;
      let measureThread = startThreadMeasure();
      try {
        const client = await pool.connect();
        measureThread = startThreadMeasure();
        return await run(client, statement, signal, options);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof pg.DatabaseError && error.code === '57014') throw new ListingTooSlow(error);
        throw error;
      } finally {
        const { milliseconds, utilization } = measureThread();
        if (isFind && milliseconds > longMilliseconds) {
          const since = Math.max(performance.now(), paidOffAt.get(projectId) ?? 0);
          paidOffAt.set(projectId, since + longFactor * milliseconds);
        }
        if (others !== othersBefore) {
          void pauseForOthers(pauseFactor * milliseconds).then(leave);
        } else if (pace === 'stream' && utilization > busyUtilization) {
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
  client: pg.PoolClient,
  statement: pg.QueryConfig,
  signal: AbortSignal,
  { cancel, setsEachTime }: LaneOptions,
): Promise<pg.QueryResult<R>> {
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
