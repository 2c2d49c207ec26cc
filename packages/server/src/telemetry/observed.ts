/** What is known about an answered request. `started` is a time of performance.now(). */
export interface Answered {
  operation: string;
  method: string;
  status: number;
  requestId: string;
  started: number;
}

/** Receives what a job has removed. */
export type Count = (what: Removed, howMany: number) => void;
export type Removed = 'orphan' | 'removed_project' | 'multipart' | 'upload' | 'trashed_file' | 'event';

/** What is known about a finished run. */
export interface JobRun {
  job: string;
  outcome: 'success' | 'failure' | 'stopped';
  seconds: number;
  removed: Partial<Record<Removed, number>>;
}

/** How a file differs from what was declared: in its type, or in its SHA-256. */
export type Mismatch = 'type' | 'sha256';
