import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import type { Database } from '../db/open.ts';
import { type EventRow, eventColumns } from './event-json.ts';
import { numberEvents, numberedAtOnce } from './number-events.ts';

/** Takes the events of one project as they come, in their order. */
export type Subscriber = (events: readonly EventRow[]) => void;

/**
 * The numbered events of all projects, in this process. It numbers what this process has committed, notices what others
 * have numbered, and reads each event once for all who wait for it.
 */
export interface Feed {
  /** Something may have been committed: number it soon. Transactions do this by themselves. */
  wake(): void;
  /** Resolves once everything that was committed before is numbered, or could not be. */
  catchUp(): Promise<void>;
  /**
   * Hears of everything that is numbered from now on. Resolves once that is certain, so that whoever then reads what is
   * there already misses nothing; it may get events that it has read.
   * @returns a function that ends it
   */
  subscribe(projectId: string, subscriber: Subscriber): Promise<() => void>;
  /** Aborts when the service stops: whoever waits for events is to end. */
  ending: AbortSignal;
  end(): void;
  close(): Promise<void>;
}

export interface FeedTimes {
  /** How long events are collected, at most, before they are numbered: at once, if the last time was longer ago. */
  collectMilliseconds: number;
  /** How often to look without having been woken. */
  pollMilliseconds: number;
}

const channel = 'cadiz_events';
const readAtOnce = 1000;

/** Numbering takes a durable commit of its own, which many events should share. */
const usualTimes: FeedTimes = { collectMilliseconds: 100, pollMilliseconds: 1000 };

type FeedDatabase = Pick<Database, 'pool' | 'transaction' | 'notify' | 'listen' | 'onCommit'>;

/** @param times for tests */
export function createFeed(db: FeedDatabase, log: Logger, times: FeedTimes = usualTimes): Feed {
  const subscribers = new Map<string, Set<Subscriber>>();
  /** Up to where this process has read; undefined while nobody listens. */
  let position: number | undefined;
  const ending = new AbortController();
  // Every client that waits for events listens to it.
  setMaxListeners(0, ending.signal);
  let isFailing = false;
  let isClosed = false;

  const numbering = createTask(times.collectMilliseconds, async () => {
    let numbered: number;
    do {
      numbered = await numberEvents(db);
      if (numbered === 0) return;
      reading.wake();
      await db.notify(channel, '');
    } while (numbered === numberedAtOnce && !isClosed);
  });
  const reading = createTask(0, async () => {
    while (position !== undefined && !isClosed) {
      const rows = await readAfter(db, position);
      if (position === undefined || rows.length === 0) return;
      position = rows.at(-1)?.position ?? position;
      spread(rows, subscribers);
      if (rows.length < readAtOnce) return;
    }
  });

  function createTask(gap: number, work: () => Promise<void>) {
    return createCoalesced(gap, () =>
      work().then(
        () => {
          isFailing = false;
        },
        (error: unknown) => {
          // The next poll tries again; only the first failure is logged.
          if (!isFailing && !isClosed) log.warn({ error }, 'Could not number or read events; this is tried again');
          isFailing = true;
        },
      ),
    );
  }

  const look = () => {
    numbering.wake();
    if (position !== undefined) reading.wake();
  };
  db.onCommit(() => numbering.wake());
  const poll = setInterval(look, times.pollMilliseconds);
  const notifications = db.listen(channel, {
    onMessage: () => position !== undefined && reading.wake(),
    onListening: look,
  });
  look();

  return {
    wake: () => numbering.wake(),
    catchUp: () => numbering.runNow(),
    async subscribe(projectId, subscriber) {
      const ofProject = subscribers.get(projectId) ?? new Set();
      subscribers.set(projectId, ofProject.add(subscriber));
      const unsubscribe = () => {
        ofProject.delete(subscriber);
        if (ofProject.size > 0) return;
        if (subscribers.get(projectId) === ofProject) subscribers.delete(projectId);
        if (subscribers.size === 0) position = undefined;
      };
      try {
        const head = await readHead(db);
        // Whoever came first has started the reading.
        position ??= subscribers.size > 0 ? head : undefined;
        return unsubscribe;
      } catch (error) {
        unsubscribe();
        throw error;
      }
    },
    ending: ending.signal,
    end: () => ending.abort(),
    async close() {
      isClosed = true;
      clearInterval(poll);
      await notifications.close();
      await Promise.all([numbering.close(), reading.close()]);
    },
  };
}

async function readHead({ pool }: FeedDatabase): Promise<number> {
  const { rows } = await pool.query<{ position: number }>('select position from event_head');
  return rows[0]?.position ?? 0;
}

async function readAfter({ pool }: FeedDatabase, position: number): Promise<EventRow[]> {
  const { rows } = await pool.query<EventRow>({
    name: 'events-after',
    text: `select ${eventColumns} from events where position > $1 order by position limit ${readAtOnce}`,
    values: [position],
  });
  return rows;
}

function spread(rows: readonly EventRow[], subscribers: ReadonlyMap<string, ReadonlySet<Subscriber>>): void {
  for (const [projectId, ofProject] of subscribers) {
    const events = rows.filter((row) => row.project_id === projectId);
    if (events.length > 0) for (const subscriber of ofProject) subscriber(events);
  }
}

interface Coalesced {
  /** Runs the work soon: once, however often it is asked for meanwhile, and once more if it is running already. */
  wake(): void;
  /** Runs the work at once, after what is running already, and resolves once it has run. Those who wait share a run. */
  runNow(): Promise<void>;
  /** Resolves when nothing is running any more. */
  close(): Promise<void>;
}

/**
 * @param gap milliseconds between the beginnings of two runs, at least
 * @param work must not throw
 */
function createCoalesced(gap: number, work: () => Promise<void>): Coalesced {
  let began = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let isAsked = false;
  let isClosed = false;

  function run(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    isAsked = false;
    began = performance.now();
    running = work().finally(() => {
      running = undefined;
      if (isAsked) wake();
    });
    return running;
  }
  function wake(): void {
    if (isClosed || timer) return;
    if (running) isAsked = true;
    else timer = setTimeout(run, Math.max(0, began + gap - performance.now()));
  }
  async function runAfter(before: Promise<void>): Promise<void> {
    await before;
    next = undefined;
    if (!isClosed) await (running ?? run());
  }
  return {
    wake,
    runNow() {
      if (isClosed) return Promise.resolve();
      if (!running) return run();
      next ??= runAfter(running);
      return next;
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
