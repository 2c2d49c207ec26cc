import type { Count } from '../telemetry/observed.ts';

/** What work is about: something of a project. Projects take turns. */
export interface Subject {
  projectId: string;
  /** Of a file, an upload and the like; any string of the kind's own. */
  id: string;
}

/** Work that this process has claimed, and does while it holds the lease. */
export interface Task extends Subject {
  kind: string;
  /** The fencing token: new for each claim. */
  lease: string;
  /** 1 for the first time. */
  attempt: number;
  payload: unknown;
}

/**
 * What becomes of a task: `undefined` when it is done; 'finished' when the handler has deleted its row itself (`deleteDone`);
 * `again` when there is more to do, in so many seconds. That is no failure.
 */
export type Outcome = undefined | 'finished' | { again: number };

/** One kind of work, and how it is done. */
export interface Kind {
  name: string;
  /** How many this process does side by side. */
  atOnce: number;
  /** How many more it claims at once and keeps waiting, for work that takes milliseconds; 0 by default. */
  ahead?: number;
  /**
   * Does the work about one subject. It may be done more than once (after a crash, or by a process that stalled beyond its
   * lease), so it must bear that. When the signal says so it stops soon, by throwing the signal's reason. What else it throws is
   * logged, and it is tried again later; a Problem with status 503 is nobody's fault, and does not count as an attempt.
   */
  run(task: Task, signal: AbortSignal, count: Count): Promise<Outcome>;
}

/** How a process passes on, without a claim, work that it has just written down. */
export interface Handover {
  /**
   * Whether this process would do work of this kind soon.
   * @returns the lease that the row must be inserted with (`insertWorkSql`); undefined when it should be inserted without
   */
  offer(kind: string): string | undefined;
  /** Takes on work whose row has been inserted with a lease from `offer`. */
  take(task: Task): void;
}

/** Where each process hears by NOTIFY that work of a kind is ready. The payload is the kind. */
export const workChannel = 'cadiz_work';

/** So long a claim holds, unless it is renewed. */
export const leaseSeconds = 60;

/** After so many attempts that failed, work is given up and kept as a dead letter. */
export const maxAttempts = 12;
