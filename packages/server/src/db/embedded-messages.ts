/** Messages between the service's thread and the thread of the embedded database. */
export type ToWorker =
  /** A new client: anything an earlier one left open is rolled back first. */
  | { kind: 'connect'; client: number }
  /** Whole messages of PostgreSQL's wire protocol. */
  | { kind: 'data'; client: number; bytes: Uint8Array }
  | { kind: 'countFsyncs' }
  /** Copies PGDATA to a folder that does not exist yet. */
  | { kind: 'copy'; to: string }
  | { kind: 'close' };

export type FromWorker =
  | { kind: 'ready' }
  /** `code` and `path` come from a system error. */
  | { kind: 'refused'; name: string; message: string; code?: string; path?: string }
  /** PostgreSQL itself has failed, and the thread ends. */
  | { kind: 'crashed'; reason: string }
  | { kind: 'data'; client: number; bytes: Uint8Array<ArrayBuffer> }
  | { kind: 'fsyncs'; count: number }
  /** With what went wrong, if something did. */
  | { kind: 'copied'; to: string; error?: string };

export interface WorkerData {
  /** PGDATA; created if it is missing. */
  folder: string;
  /** The folder of an empty database, which saves initdb's four seconds; used if it exists. */
  template: string;
}
