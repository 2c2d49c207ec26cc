import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { lockFolder, StoreFolderInUse } from '@cadiz/store';
import { makeFolder, toFolderSentence } from '../settings/data-folder.ts';
import {
  DatabaseFolderInUse,
  DatabaseFolderUnusable,
  DatabaseFolderUnwritable,
  DatabaseNotDurable,
} from './database-errors.ts';
import type { FromWorker, ToWorker, WorkerData } from './embedded-messages.ts';
import { MessageStream } from './message-stream.ts';

const ownWorker = new URL('../../dist/db/embedded-worker.js', import.meta.url);
const closeTimeoutMilliseconds = 10_000;

export interface EmbeddedDatabase {
  /** A connection for `pg`: PostgreSQL's wire protocol over messages to the thread. Only the latest one is served. */
  connect(): Duplex;
  /** How often something was flushed to the disk since the start. */
  countFsyncs(): Promise<number>;
  /**
   * Copies the database as it is at one moment to a folder that does not exist yet. Statements wait meanwhile; open
   * transactions are not in the copy.
   */
  copyTo(folder: string): Promise<void>;
  /** Resolves with the reason if the thread ends on its own. */
  failed: Promise<Error>;
  close(): Promise<void>;
}

/**
 * PostgreSQL in WASM (PGlite) in its own thread, so that queries never delay presigns. The folder is locked for this
 * process first: two processes on one folder would corrupt it silently.
 * @param worker the thread's script
 * @throws DatabaseFolderInUse, DatabaseFolderUnwritable, DatabaseFolderUnusable, DatabaseNotDurable
 */
export async function openEmbedded(dataDir: string, worker: URL = ownWorker): Promise<EmbeddedDatabase> {
  const lock = takeFolder(dataDir);
  const thread = new Worker(worker, {
    workerData: { folder: join(dataDir, 'pgdata'), template: templatePath() } satisfies WorkerData,
  });
  const post = (message: ToWorker, transfer: ArrayBuffer[] = []) => thread.postMessage(message, transfer);

  let asked = false;
  let reason: string | undefined;
  let gone: Error | undefined;
  let stream: MessageStream | undefined;
  let clients = 0;
  const counts: ((count: number) => void)[] = [];
  const copies = new Map<string, (error: string | undefined) => void>();

  const ended = new Promise<Error>((resolve) => {
    thread.once('error', (error) => {
      reason ??= error.message;
    });
    thread.once('exit', (code) => {
      lock.release();
      gone = new Error(
        `The embedded database in ${dataDir} has stopped: ${reason ?? `its thread exited with code ${code}`}.`,
      );
      stream?.destroy(gone);
      resolve(gone);
    });
  });

  await new Promise<void>((resolve, reject) => {
    let refusal: Error | undefined;
    void ended.then((error) => reject(refusal ?? error));
    thread.on('message', (message: FromWorker) => {
      if (message.kind === 'data' && message.client === clients) stream?.receive(message.bytes);
      if (message.kind === 'fsyncs') counts.shift()?.(message.count);
      if (message.kind === 'copied') copies.get(message.to)?.(message.error);
      if (message.kind === 'crashed') reason = message.reason;
      if (message.kind === 'refused') refusal = toError(dataDir, message);
      if (message.kind === 'ready') resolve();
    });
  });

  return {
    connect() {
      clients += 1;
      const client = clients;
      stream = new MessageStream(
        () => {
          if (gone) throw gone;
          post({ kind: 'connect', client });
        },
        (bytes) => post({ kind: 'data', client, bytes }, [bytes.buffer]),
      );
      return stream;
    },
    countFsyncs: () =>
      new Promise((resolve, reject) => {
        void ended.then(reject);
        counts.push(resolve);
        post({ kind: 'countFsyncs' });
      }),
    async copyTo(to) {
      const copied = new Promise<string | undefined>((resolve, reject) => {
        void ended.then(reject);
        copies.set(to, resolve);
      });
      post({ kind: 'copy', to });
      const error = await copied.finally(() => copies.delete(to));
      if (error !== undefined) throw new Error(error);
    },
    failed: new Promise((resolve) => {
      void ended.then((error) => {
        if (!asked) resolve(error);
      });
    }),
    async close() {
      if (!asked) post({ kind: 'close' });
      asked = true;
      // Everything acknowledged is already on the disk, so nothing is lost if it does not close by itself.
      const closeTimer = setTimeout(() => void thread.terminate(), closeTimeoutMilliseconds);
      await ended;
      clearTimeout(closeTimer);
    },
  };
}

function takeFolder(dataDir: string): { release(): void } {
  try {
    makeFolder(dataDir);
    return lockFolder(dataDir);
  } catch (error) {
    if (error instanceof StoreFolderInUse) throw new DatabaseFolderInUse(dataDir, error.holder);
    throw new DatabaseFolderUnwritable(dataDir, error as NodeJS.ErrnoException);
  }
}

function toError(dataDir: string, refusal: Extract<FromWorker, { kind: 'refused' }>): Error {
  const { name, message, code } = refusal;
  if (name === 'DatabaseNotDurable') return new DatabaseNotDurable(dataDir);
  if (name === 'DatabaseFolderUnusable') return new DatabaseFolderUnusable(message);
  if (code !== undefined || toFolderSentence(refusal, dataDir)) return new DatabaseFolderUnwritable(dataDir, refusal);
  return new Error(`The embedded database in ${dataDir} could not start: ${message}.`);
}

/** Built by `scripts/make-database-template.mjs` as part of the project's build. */
export function templatePath(): string {
  const pglite = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  const manifest: unknown = JSON.parse(readFileSync(join(pglite, '../../package.json'), 'utf8'));
  const { version } = manifest as { version: string };
  return fileURLToPath(new URL(`../../dist/database-template-${version}`, import.meta.url));
}
