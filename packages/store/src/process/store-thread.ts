import { Worker } from 'node:worker_threads';
import { StoreFolderInUse } from '../disk/lock.ts';
import type { Log } from '../disk/log.ts';
import { StoreFolderUnwritable } from '../disk/store.ts';
import { defaultDrainMilliseconds, type RunningStore, type StoreOptions } from './open-store.ts';

export type WorkerOptions = Omit<StoreOptions, 'now' | 'log' | 'onObject'>;
export type ToWorker = { drainMilliseconds: number };
export type FromWorker =
  | { kind: 'log'; line: Parameters<Log>[0] }
  | { kind: 'objects'; objects: StoredObject[] }
  | { kind: 'listening'; port: number }
  | { kind: 'closed' }
  | {
      kind: 'refused';
      error:
        | { type: 'in-use'; folder: string; holder: string }
        | { type: 'unwritable'; folder: string; reason: string }
        | { type: 'other'; message: string; fields: Record<string, unknown> };
    };

/** An object that was put. */
export interface StoredObject {
  bucket: string;
  key: string;
}

type Refusal = Extract<FromWorker, { kind: 'refused' }>['error'];

/**
 * `openStore` in a thread of its own, so that uploads never delay the caller's event loop. Throws the same errors.
 */
export async function startStoreThread(
  options: WorkerOptions & {
    log?: Log;
    /** Told of the objects that were put, some at a time, soon after they are durable. */
    onObjects?: (objects: readonly StoredObject[]) => void;
  },
): Promise<RunningStore> {
  const { log, onObjects, ...workerData } = options;
  const worker = new Worker(new URL('../../dist/process/store-worker.js', import.meta.url), { workerData });
  let ended = false;
  let asked = false;

  const exited = new Promise<Error>((resolve) => {
    worker.once('error', resolve);
    worker.once('exit', (code) => {
      ended = true;
      resolve(new Error(`The store's thread ended with code ${code}.`));
    });
  });
  const port = await new Promise<number>((resolve, reject) => {
    void exited.then(reject);
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'log') log?.(message.line);
      if (message.kind === 'objects') onObjects?.(message.objects);
      if (message.kind === 'listening') resolve(message.port);
      if (message.kind === 'refused') reject(toError(message.error));
    });
  });

  return {
    port,
    failed: new Promise((resolve) => {
      void exited.then((error) => {
        if (!asked) resolve(error);
      });
    }),
    close: async ({ drainMilliseconds = defaultDrainMilliseconds } = {}) => {
      if (!asked && !ended) worker.postMessage({ drainMilliseconds } satisfies ToWorker);
      asked = true;
      if (!ended) await exited;
    },
  };
}

function toError(refusal: Refusal): Error {
  if (refusal.type === 'in-use') return new StoreFolderInUse(refusal.folder, refusal.holder);
  if (refusal.type === 'unwritable') return new StoreFolderUnwritable(refusal.folder, refusal.reason);
  return Object.assign(new Error(refusal.message), refusal.fields);
}
