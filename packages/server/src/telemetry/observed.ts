/** What is known of a request once it is answered. `started` is by performance.now(). */
export interface Answered {
  operation: string;
  method: string;
  status: number;
  requestId: string;
  started: number;
}

/** Told of what a job, or work, has removed. */
export type Count = (what: Removed, howMany: number) => void;
export type Removed = 'orphan' | 'removed_project' | 'multipart' | 'upload' | 'trashed_file' | 'event';

/** What is known of a run once it is over. */
export interface JobRun {
  job: string;
  outcome: 'success' | 'failure' | 'stopped';
  seconds: number;
  removed: Partial<Record<Removed, number>>;
}

/** What is known of one task of the work queue once it is over, until it is due again. */
export interface WorkRun {
  kind: string;
  /**
   * `again`: there is more to do. `failed`: it is tried again. `dead`: it is given up. `unavailable`: what it needs did not answer.
   * `lost`: another process has taken it over, or what became of it could not be written down.
   */
  outcome: 'done' | 'again' | 'failed' | 'dead' | 'unavailable' | 'lost' | 'stopped';
  /** What the handler threw. */
  error?: unknown;
  seconds: number;
  removed: Partial<Record<Removed, number>>;
}

/** What was found: bytes of another type than declared, or with another SHA-256. */
export type Mismatch = 'type' | 'sha256';
