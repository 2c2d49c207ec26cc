/** What the service's thread and the thread of the embedded database say to each other. */
export type ToWorker =
  /** A new client: what an earlier one left open is rolled back first. */
  | { kind: 'connect'; client: number }
  /** Whole messages of PostgreSQL's wire protocol. */
  | { kind: 'data'; client: number; bytes: Uint8Array }
  | { kind: 'countFsyncs' }
  | { kind: 'close' };

export type FromWorker =
  | { kind: 'ready' }
  /** With the code and the path of a system's error. */
  | { kind: 'refused'; name: string; message: string; code?: string; path?: string }
  /** PostgreSQL itself has failed; the thread ends. */
  | { kind: 'crashed'; reason: string }
  | { kind: 'data'; client: number; bytes: Uint8Array<ArrayBuffer> }
  | { kind: 'fsyncs'; count: number };

export interface WorkerData {
  /** PGDATA; made when it is not there. */
  folder: string;
  /** The folder of an empty database, to save initdb's four seconds; used when it exists. */
  template: string;
}
