import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { lockFolder } from '@cadiz/store';
import { DatabaseNotDurable } from './durable-fs.ts';
import type { FromWorker, ToWorker, WorkerData } from './embedded-messages.ts';

export interface EmbeddedDatabase {
  /** A connection for `pg`: PostgreSQL's wire protocol over messages to the thread. */
  connect(): Duplex;
  /** How often something was written through to the disk since the start. */
  countFsyncs(): Promise<number>;
  /** Resolves with the reason if the thread ends without having been asked to. */
  failed: Promise<Error>;
  close(): Promise<void>;
}

/**
 * PostgreSQL in WASM (PGlite) in a thread of its own, so that queries never delay presigns. The folder is locked for
 * this process first: two on one folder would corrupt it silently.
 * @throws StoreFolderInUse, DatabaseNotDurable, and the system's error when the folder cannot be written
 */
export async function openEmbedded(dataDir: string): Promise<EmbeddedDatabase> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = lockFolder(dataDir);
  const worker = new Worker(new URL('../../dist/db/embedded-worker.js', import.meta.url), {
    workerData: {
      folder: join(dataDir, 'pgdata'),
      marker: join(dataDir, 'complete'),
      template: templatePath(),
    } satisfies WorkerData,
  });
  const post = (message: ToWorker, transfer: ArrayBuffer[] = []) => worker.postMessage(message, transfer);

  let asked = false;
  let stream: MessageStream | undefined;
  let clients = 0;
  const counts: ((count: number) => void)[] = [];
  const ended = new Promise<Error>((resolve) => {
    worker.once('error', resolve);
    worker.once('exit', (code) => resolve(new Error(`The embedded database ended with code ${code}.`)));
  });
  void ended.then((error) => {
    lock.release();
    stream?.destroy(new Error(`The embedded database has stopped: ${error.message}`));
  });

  await new Promise<void>((resolve, reject) => {
    void ended.then(reject);
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'data') stream?.receive(message);
      if (message.kind === 'fsyncs') counts.shift()?.(message.count);
      if (message.kind === 'ready') resolve();
      if (message.kind === 'refused') reject(toError(message));
    });
  });

  return {
    connect() {
      clients += 1;
      stream = new MessageStream(clients, post);
      return stream;
    },
    countFsyncs: () =>
      new Promise((resolve) => {
        counts.push(resolve);
        post({ kind: 'countFsyncs' });
      }),
    failed: new Promise((resolve) => {
      void ended.then((error) => {
        if (!asked) resolve(error);
      });
    }),
    async close() {
      if (!asked) post({ kind: 'close' });
      asked = true;
      await ended;
    },
  };
}

/** As much of a socket as `pg` needs. It writes whole messages, and what it corks goes over in one piece. */
class MessageStream extends Duplex {
  readonly #client: number;
  readonly #post: (message: ToWorker, transfer?: ArrayBuffer[]) => void;

  constructor(client: number, post: (message: ToWorker, transfer?: ArrayBuffer[]) => void) {
    super();
    this.#client = client;
    this.#post = post;
  }

  connect(): this {
    this.#post({ kind: 'connect', client: this.#client });
    process.nextTick(() => this.emit('connect'));
    return this;
  }

  receive({ client, bytes }: { client: number; bytes: Uint8Array }): void {
    if (client === this.#client && !this.destroyed) this.push(Buffer.from(bytes.buffer));
  }

  override _read(): void {
    // Answers are pushed as they come: there is one query at a time, so one answer at the most waits here.
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#send(chunk);
    done();
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk)));
    done();
  }

  override _final(done: () => void): void {
    this.push(null);
    done();
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  #send(chunk: Buffer): void {
    const bytes = new Uint8Array(chunk);
    this.#post({ kind: 'data', client: this.#client, bytes }, [bytes.buffer]);
  }
}

function toError({ name, message, code, path }: Extract<FromWorker, { kind: 'refused' }>): Error {
  return name === 'DatabaseNotDurable' ? new DatabaseNotDurable() : Object.assign(new Error(message), { code, path });
}

/** Made by `scripts/make-database-template.mjs` when the project is built. */
export function templatePath(): string {
  const pglite = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  const manifest: unknown = JSON.parse(readFileSync(join(pglite, '../../package.json'), 'utf8'));
  const { version } = manifest as { version: string };
  return fileURLToPath(new URL(`../../dist/database-template-${version}`, import.meta.url));
}
