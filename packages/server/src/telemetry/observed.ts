/** What is known of a request once it is answered. `started` is by performance.now(). */
export interface Answered {
  operation: string;
  method: string;
  status: number;
  requestId: string;
  started: number;
}

/** Told of what a job has removed. */
export type Count = (what: Removed, howMany: number) => void;
export type Removed = 'orphan' | 'removed_project' | 'multipart' | 'upload' | 'trashed_file' | 'event';

/** What is known of a run once it is over. */
export interface JobRun {
  job: string;
  outcome: 'success' | 'failure' | 'stopped';
  seconds: number;
  removed: Partial<Record<Removed, number>>;
}

/** What was found: bytes of another type than declared, or with another SHA-256. */
export type Mismatch = 'type' | 'sha256';
