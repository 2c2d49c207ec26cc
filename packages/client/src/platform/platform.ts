/** Some bytes that can be read as often as needed. A Blob is one. */
export interface Chunk {
  readonly size: number;
}

/** Bytes that are read as they are sent, as a file on disk should be. */
export interface StreamChunk extends Chunk {
  read(): AsyncIterable<Uint8Array>;
}

export interface PutRequest {
  url: string;
  body: Chunk;
  /** Called with how many bytes of the body have been sent. */
  onProgress: (sent: number) => void;
  signal: AbortSignal;
}

/** What the object store answered. */
export interface PutAnswer {
  status: number;
  text: string;
  /** The header. */
  retryAfter: string | null | undefined;
}

/** An upload in parts that another run of the program can go on with. */
export interface Resumable {
  uploadId: string;
  /** The ticket that it began with: another one does not open it. */
  secret?: string | undefined;
}

/** Where uploads in parts are remembered. */
export interface ResumeStore {
  get(key: string): Promise<Resumable | undefined>;
  set(key: string, upload: Resumable): Promise<unknown>;
  delete(key: string): Promise<unknown>;
}

/** How long nothing may move before a connection counts as broken. */
export const idleMilliseconds = 60_000;
