import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Database } from '../db/open.ts';
import type { WorkRun } from '../telemetry/observed.ts';
import { claimWork, endLeases, expireLeases, firstProject, lookForWork, releaseLeases, renewLeases } from './lease.ts';
import { perform } from './perform.ts';
import { type Handover, type Kind, leaseSeconds, type Task, workChannel } from './work.ts';

export interface RunningWork extends Handover {
  /** Lets running tasks reach their next stop, releases those that were not begun, then resolves. */
  close(): Promise<void>;
}

export interface WorkTimes {
  /** How often to look for work without having been notified. */
  pollMilliseconds: number;
  /** How often leases are renewed: a few times before one would expire. */
  renewMilliseconds: number;
  /** How long a kind is paused when something it needs does not answer; the pause doubles each time, up to a minute. */
  pauseMilliseconds: number;
}

const usualTimes: WorkTimes = {
  pollMilliseconds: 5_000,
  renewMilliseconds: (leaseSeconds * 1000) / 3,
  pauseMilliseconds: 1_000,
};
const longestPauseMilliseconds = 60_000;

/** How many handed-over tasks may wait for each kind; further ones are found in the database, in fair turns. */
const handedOverAtMost = 100;

interface Surroundings {
  db: Pick<Database, 'kind' | 'pool' | 'listen'>;
  log: Logger;
  observe?: ((run: WorkRun) => void) | undefined;
}

/** A task in this process, and the means to have it stop: its lease is lost, or the service is stopping. */
interface Held {
  task: Task;
  stop: AbortController;
  /** When the lease was last known to be held, by performance.now(). */
  since: number;
}

/** One kind of work in this process. */
interface Lane {
  kind: Kind;
  waiting: Held[];
  running: Map<Held, Promise<void>>;
  /** Whether the database may have work to be claimed. */
  isDue: boolean;
  claiming: Promise<void> | undefined;
  /** The project whose turn was last. */
  after: string;
  /** How many times in a row something it needs did not answer. */
  failures: number;
  pause: NodeJS.Timeout | undefined;
}

interface State extends Surroundings {
  observe: (run: WorkRun) => void;
  times: WorkTimes;
  lanes: Map<string, Lane>;
  stopping: AbortController;
  isIntroduced: boolean;
  isAway: boolean;
  timer: NodeJS.Timeout | undefined;
  polling: Promise<void> | undefined;
  /** Whether to look again as soon as the current look is over. */
  isAsked: boolean;
  /** What this process has done or tried, without being able to write that down. Their leases are ended once the database answers. */
  unsettled: Task[];
}

/**
 * Does the work of these kinds in this process; any number of processes share a queue. The table is authoritative:
 * NOTIFY says when to look, and polling finds work that nobody was notified of. All times of the queue are the
 * database's.
 */
export function startWork(
  { db, log, observe = () => undefined }: Surroundings,
  kinds: readonly Kind[],
  times: WorkTimes = usualTimes,
): RunningWork {
  const state: State = {
    db,
    log,
    observe,
    times,
    lanes: new Map(kinds.map((kind) => [kind.name, toLane(kind)])),
    stopping: new AbortController(),
    isIntroduced: false,
    isAway: false,
    timer: undefined,
    polling: undefined,
    isAsked: false,
    unsettled: [],
  };
  const notifications = db.listen(workChannel, {
    onMessage: (kind) => wake(state, kind),
    // Notifications may have been missed.
    onListening: () => pollNow(state),
  });
  const renewing = setInterval(() => void renew(state), times.renewMilliseconds);
  pollNow(state);
  return {
    offer: (kind) => offer(state, kind),
    take: (task) => take(state, task),
    async close() {
      const reason = new Error('The service is stopping.');
      state.stopping.abort(reason);
      // Not by `AbortSignal.any`: in Node 20, what ends late remembers each signal that was ever made of it.
      for (const { running } of state.lanes.values()) for (const { stop } of running.keys()) stop.abort(reason);
      clearTimeout(state.timer);
      clearInterval(renewing);
      await notifications.close();
      await state.polling;
      await Promise.all([...state.lanes.values()].map((lane) => closeLane(state, lane)));
    },
  };
}

function toLane(kind: Kind): Lane {
  return {
    kind,
    waiting: [],
    running: new Map(),
    isDue: false,
    claiming: undefined,
    after: firstProject,
    failures: 0,
    pause: undefined,
  };
}

async function closeLane(state: State, lane: Lane): Promise<void> {
  clearTimeout(lane.pause);
  await lane.claiming;
  await giveBackWaiting(state, lane);
  await Promise.all(lane.running.values());
}

/**
 * Only while nothing waits in the database, so that a project that hands over much work does not overtake those waiting
 * there.
 */
function offer({ lanes, stopping, isIntroduced }: State, kind: string): string | undefined {
  const lane = lanes.get(kind);
  const hasRoom = lane && !lane.isDue && !lane.claiming && !lane.pause && lane.waiting.length < handedOverAtMost;
  return hasRoom && isIntroduced && !stopping.signal.aborted ? randomUUID() : undefined;
}

function take(state: State, task: Task): void {
  const lane = state.lanes.get(task.kind);
  // Work that no process takes is due when its lease expires.
  if (!lane || state.stopping.signal.aborted) return;
  lane.waiting.push(hold(task));
  fill(state, lane);
}

function hold(task: Task): Held {
  return { task, stop: new AbortController(), since: performance.now() };
}

function wake(state: State, kind: string): void {
  const lane = state.lanes.get(kind);
  if (!lane) return;
  lane.isDue = true;
  fill(state, lane);
}

/** Starts as many tasks as may run at once, and claims more if none are left. */
function fill(state: State, lane: Lane): void {
  if (state.stopping.signal.aborted || lane.pause) return;
  const { kind, running, waiting } = lane;
  while (running.size < kind.atOnce) {
    const next = waiting.shift();
    if (!next) break;
    if (!isStale(next)) running.set(next, begin(state, lane, next));
  }
  if (lane.isDue && !lane.claiming && waiting.length === 0 && running.size < kind.atOnce) {
    lane.claiming = claim(state, lane, kind.atOnce - running.size + (kind.ahead ?? 0)).finally(() => {
      lane.claiming = undefined;
      fill(state, lane);
    });
  }
}

/** Whether its lease may have expired while it waited: then another process has claimed it, or will. */
function isStale({ since }: Held): boolean {
  return performance.now() - since >= leaseSeconds * 1000;
}

async function begin(state: State, lane: Lane, held: Held): Promise<void> {
  const run = await perform({ pool: state.db.pool, log: state.log }, lane.kind, held.task, held.stop.signal);
  lane.running.delete(held);
  if (run.outcome === 'lost') state.unsettled.push(held.task);
  heed(state, lane, run);
  fill(state, lane);
}

/** Applies what one run shows about the next ones. */
function heed(state: State, lane: Lane, run: WorkRun): void {
  state.observe(run);
  if (run.outcome === 'again') lane.isDue = true;
  if (run.outcome === 'unavailable') pause(state, lane);
  else if (run.outcome === 'done' || run.outcome === 'again') lane.failures = 0;
}

/** If something did not answer one task, it will not answer the others: the kind is paused, for longer each time. */
function pause(state: State, lane: Lane): void {
  if (lane.pause || state.stopping.signal.aborted) return;
  const milliseconds = Math.min(longestPauseMilliseconds, state.times.pauseMilliseconds * 2 ** lane.failures++);
  lane.pause = setTimeout(() => {
    lane.pause = undefined;
    wake(state, lane.kind.name);
  }, milliseconds);
  void giveBackWaiting(state, lane);
}

async function giveBackWaiting({ db, log }: State, lane: Lane): Promise<void> {
  const tasks = lane.waiting.splice(0).map(({ task }) => task);
  // If this fails, the leases expire by themselves.
  await releaseLeases(db.pool, tasks).catch((error: unknown) =>
    log.warn({ error, kind: lane.kind.name }, 'Could not give back work that was not begun'),
  );
}

/** Claims the next tasks, project by project, and returns to the first project after the last one. */
async function claim(state: State, lane: Lane, limit: number): Promise<void> {
  const { kind, after } = lane;
  // Before the claim, so that a notification during it causes another look.
  lane.isDue = false;
  try {
    const claimed = await claimWork(state.db.pool, kind.name, limit, after);
    lane.after = claimed.length < limit ? firstProject : (claimed.at(-1)?.projectId ?? firstProject);
    lane.waiting.push(...claimed.map(hold));
    lane.isDue ||= claimed.length > 0 || after !== firstProject;
    sayThatItIsBack(state);
  } catch (error) {
    sayThatItIsAway(state, error);
  }
}

/** Renews the leases of everything that this process has claimed, and stops the tasks that have lost theirs. */
async function renew({ db, log, lanes }: State): Promise<void> {
  const held = [...lanes.values()].flatMap(({ waiting, running }) => [...waiting, ...running.keys()]);
  if (held.length === 0) return;
  const at = performance.now();
  try {
    const kept = await renewLeases(
      db.pool,
      held.map(({ task }) => task),
    );
    for (const one of held) {
      if (kept.has(one.task.lease)) one.since = at;
      else one.stop.abort(new Error('Another process has taken over this work.'));
    }
  } catch (error) {
    log.warn({ error }, 'Could not renew the leases of work');
  }
}

async function poll(state: State): Promise<void> {
  const { db, log, lanes } = state;
  try {
    // Only this process uses the database, so any lease it finds belongs to a dead process.
    if (!state.isIntroduced && db.kind === 'embedded') await endLeases(db.pool);
    state.isIntroduced = true;
    await endUnsettled(state);
    const { ready, dead, more } = await lookForWork(db.pool, [...lanes.keys()]);
    for (const subject of dead)
      log.error(subject, 'Some work has failed too often, and is given up until it is retried');
    for (const kind of ready) wake(state, kind);
    state.isAsked ||= more;
    sayThatItIsBack(state);
  } catch (error) {
    sayThatItIsAway(state, error);
  }
}

/** Otherwise, nobody could do that work again before the leases expire. */
async function endUnsettled({ db, unsettled }: State): Promise<void> {
  if (unsettled.length === 0) return;
  const tasks = [...unsettled];
  await expireLeases(db.pool, tasks);
  unsettled.splice(0, tasks.length);
}

function pollNow(state: State): void {
  clearTimeout(state.timer);
  if (state.stopping.signal.aborted) return;
  state.isAsked = state.polling !== undefined;
  state.polling ??= poll(state).finally(() => {
    state.polling = undefined;
    if (state.isAsked) pollNow(state);
    else if (!state.stopping.signal.aborted) {
      state.timer = setTimeout(() => pollNow(state), state.times.pollMilliseconds);
    }
  });
}

function sayThatItIsAway(state: State, error: unknown): void {
  if (!state.isAway) state.log.warn({ error }, 'Could not look for work; this is tried again until it works');
  state.isAway = true;
}

function sayThatItIsBack(state: State): void {
  if (state.isAway) state.log.info('The database answers again; work goes on');
  state.isAway = false;
}
