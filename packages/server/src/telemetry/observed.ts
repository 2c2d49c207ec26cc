/** What is known about an answered request. `started` is a time of performance.now(). */
export interface Answered {
  operation: string;
  method: string;
  status: number;
  requestId: string;
  started: number;
}

/**
 * A request to the object store, until its answer begins. `refused`: with a 4xx that is no answer to the question, `failed`: with a
 * 5xx, `unanswered`: with none.
 */
export interface StoreRequest {
  /** As S3 calls it, such as `HeadObject`. */
  operation: string;
  outcome: 'answered' | 'refused' | 'failed' | 'unanswered';
  seconds: number;
}

/** Receives what a job or work has removed. */
export type Count = (what: Removed, howMany: number) => void;
export type Removed =
  | 'orphan'
  | 'removed_project'
  | 'multipart'
  | 'upload'
  | 'trashed_file'
  | 'event'
  | 'delivery'
  | 'variant';
/** How much was removed, of each kind of which there was any. */
export type Removals = Partial<Record<Removed, number>>;

/** Adds up what one run of a job or work removes. */
export function countRemovals(): { removed: Removals; count: Count } {
  const removed: Removals = {};
  return {
    removed,
    count(what, howMany) {
      if (howMany > 0) removed[what] = (removed[what] ?? 0) + howMany;
    },
  };
}

/** What is known about a finished run. */
export interface JobRun {
  job: string;
  outcome: 'success' | 'failure' | 'stopped';
  seconds: number;
  removed: Removals;
}

/** One run of a task of the work queue. */
export interface WorkRun {
  kind: string;
  /**
   * `again`: there is more to do. `failed`: it will be retried. `dead`: it was given up. `unavailable`: the store or
   * database did not answer. `lost`: another process has taken it over, or its outcome could not be stored.
   */
  outcome: 'done' | 'again' | 'failed' | 'dead' | 'unavailable' | 'lost' | 'stopped';
  /** What the handler threw. */
  error?: unknown;
  seconds: number;
  removed: Removals;
}

/** How a file differs from what was declared: in its type, or in its SHA-256. */
export type Mismatch = 'type' | 'sha256';

/** What became of an attempt to deliver an event: `refused` with another status than 2xx, `unanswered` without one. */
export type AttemptOutcome = 'delivered' | 'refused' | 'unanswered';
