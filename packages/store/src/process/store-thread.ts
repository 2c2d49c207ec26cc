import { Worker } from 'node:worker_threads';
import { OlderFormat } from '../disk/index-db.ts';
import { StoreFolderInUse } from '../disk/lock.ts';
import type { Log } from '../disk/log.ts';
import { StoreFolderUnwritable } from '../disk/store.ts';
import type { PeekedObject } from '../operations/peek-object.ts';
import { defaultDrainMilliseconds, type RunningStore, type StoreOptions } from './open-store.ts';

export type WorkerOptions = Omit<StoreOptions, 'now' | 'log' | 'onObject'>;
export type ToWorker = { kind: 'close'; drainMilliseconds: number } | { kind: 'peek'; questions: Question[] };
export type FromWorker =
  | { kind: 'log'; line: Parameters<Log>[0] }
  | { kind: 'objects'; objects: StoredObject[] }
  | { kind: 'listening'; port: number }
  | { kind: 'peeked'; answers: Answer[] }
  | { kind: 'closed' }
  | {
      kind: 'refused';
      error:
        | { type: 'in-use'; folder: string; holder: string }
        | { type: 'unwritable'; folder: string; reason: string }
        | { type: 'older' }
        | { type: 'other'; message: string; fields: Record<string, unknown> };
    };

/** An object that was put. */
export interface StoredObject {
  bucket: string;
  key: string;
}

/** Asks for the first bytes of an object. */
export interface Question {
  id: number;
  name: { bucket: string; key: string };
  length: number;
}

/** `error`: why the object could not be read. */
export type Answer = { id: number; found: PeekedObject | undefined } | { id: number; error: string };

/**
 * For objects that were just made, in MB; by default 48. Few outlive a request, and collecting them more often took no time
 * that could be measured.
 */
const maxYoungGenerationSizeMb = 12;

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
  const worker = new Worker(new URL('../../dist/process/store-worker.js', import.meta.url), {
    workerData,
    resourceLimits: { maxYoungGenerationSizeMb },
  });
  const peeks = createPeeks((message) => worker.postMessage(message));
  let ended = false;
  let asked = false;

  const exited = new Promise<Error>((resolve) => {
    worker.once('error', resolve);
    worker.once('exit', (code) => {
      ended = true;
      const error = new Error(`The store's thread ended with code ${code}.`);
      peeks.end(error);
      resolve(error);
    });
  });
  const port = await new Promise<number>((resolve, reject) => {
    void exited.then(reject);
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'log') log?.(message.line);
      if (message.kind === 'objects') onObjects?.(message.objects);
      if (message.kind === 'peeked') peeks.settle(message.answers);
      if (message.kind === 'listening') resolve(message.port);
      if (message.kind === 'refused') reject(toError(message.error));
      // All is on disk. Waiting until nothing is left to run in the thread could take for ever: a forgotten timer is enough.
      if (message.kind === 'closed') void worker.terminate();
    });
  });

  return {
    port,
    failed: new Promise((resolve) => {
      void exited.then((error) => {
        if (!asked) resolve(error);
      });
    }),
    peek: peeks.ask,
    close: async ({ drainMilliseconds = defaultDrainMilliseconds } = {}) => {
      if (!asked && !ended) worker.postMessage({ kind: 'close', drainMilliseconds } satisfies ToWorker);
      asked = true;
      if (!ended) await exited;
    },
  };
}

/** Questions that arise in the same turn of the event loop go to the thread in one message, and so do its answers. */
function createPeeks(post: (message: ToWorker) => void) {
  const open = new Map<number, { resolve(found: PeekedObject | undefined): void; reject(error: Error): void }>();
  let questions: Question[] = [];
  let lastId = 0;
  let ended: Error | undefined;

  function ask(name: Question['name'], length: number): Promise<PeekedObject | undefined> {
    return new Promise((resolve, reject) => {
      if (ended) return void reject(ended);
      lastId += 1;
      open.set(lastId, { resolve, reject });
      if (questions.push({ id: lastId, name, length }) === 1) setImmediate(flush);
    });
  }

  function flush(): void {
    if (!ended) post({ kind: 'peek', questions });
    questions = [];
  }

  function settle(answers: readonly Answer[]): void {
    for (const answer of answers) {
      const asking = open.get(answer.id);
      open.delete(answer.id);
      if ('error' in answer) asking?.reject(new Error(answer.error));
      else asking?.resolve(answer.found);
    }
  }

  function end(error: Error): void {
    ended = error;
    for (const { reject } of open.values()) reject(error);
    open.clear();
  }

  return { ask, settle, end };
}

function toError(refusal: Refusal): Error {
  if (refusal.type === 'in-use') return new StoreFolderInUse(refusal.folder, refusal.holder);
  if (refusal.type === 'unwritable') return new StoreFolderUnwritable(refusal.folder, refusal.reason);
  if (refusal.type === 'older') return new OlderFormat();
  return Object.assign(new Error(refusal.message), refusal.fields);
}
