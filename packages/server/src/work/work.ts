import type { Count } from '../telemetry/observed.ts';

/** What work is about: something in a project. Projects take turns. */
export interface Subject {
  projectId: string;
  /** The id of a file, an upload or the like: any string that the kind chooses. */
  id: string;
}

/** Whoever locks several rows of work does so in the order of these. */
export function toKey({ projectId, id }: Subject): string {
  return `${projectId} ${id}`;
}

/** Work that this process has claimed, and does while it holds the lease. */
export interface Task extends Subject {
  kind: string;
  /** The fencing token: new for each claim. */
  lease: string;
  /** 1 for the first attempt. */
  attempt: number;
  payload: unknown;
}

/**
 * The outcome of a task: `undefined` if it is done; 'finished' if the handler has deleted its row itself
 * (`deleteDone`); `again` if there is more to do, in that many seconds, which is not a failure.
 */
export type Outcome = undefined | 'finished' | { again: number };

/** One kind of work, and how it is done. */
export interface Kind {
  name: string;
  /** How many tasks this process does side by side. */
  atOnce: number;
  /** How many more tasks it claims at once and keeps waiting, for work that takes milliseconds; 0 by default. */
  ahead?: number;
  /** How long it may have to wait, in seconds; an hour by default, which no retry exceeds. */
  longestWaitSeconds?: number;
  /**
   * Does the work about one subject. The same task may run more than once (after a crash, or in a process that stalled
   * beyond its lease), so it must tolerate that. When the signal aborts, it soon stops by throwing the signal's reason.
   * Any other error is logged, and the task is retried later; a Problem with status 503 is not the task's fault, and
   * does not count as an attempt.
   */
  run(task: Task, signal: AbortSignal, count: Count): Promise<Outcome>;
}

/** How a process passes work that it has just enqueued to itself, without a claim. */
export interface Handover {
  /**
   * Whether this process would soon do work of this kind.
   * @returns the lease that the row must be inserted with (`insertWorkSql`); undefined if it should be inserted without
   *   one
   */
  offer(kind: string): string | undefined;
  /** Accepts work whose row has been inserted with a lease from `offer`. */
  take(task: Task): void;
}

/** The channel on which NOTIFY tells each process that work of a kind is ready. The payload is the kind. */
export const workChannel = 'cadiz_work';

/** How long a claim lasts unless it is renewed. */
export const leaseSeconds = 60;

/** After this many failed attempts, work is given up and kept as a dead letter. */
export const maxAttempts = 12;
