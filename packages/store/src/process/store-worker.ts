import { parentPort, workerData } from 'node:worker_threads';
import { OlderFormat } from '../disk/index-db.ts';
import { StoreFolderInUse } from '../disk/lock.ts';
import { StoreFolderUnwritable } from '../disk/store.ts';
import { openStore, type RunningStore } from './open-store.ts';
import type { Answer, FromWorker, Question, StoredObject, ToWorker, WorkerOptions } from './store-thread.ts';

// The thread started by `startStoreThread`.
const port = parentPort;
if (!port) throw new Error('store-worker.js is started by startStoreThread, not on its own.');

function tell(message: FromWorker): void {
  port?.postMessage(message);
}

/** A message between threads costs more than its content: objects are reported together, this often. */
const gatherMilliseconds = 250;
let objects: StoredObject[] = [];

function tellOfObject(bucket: string, key: string): void {
  if (objects.push({ bucket, key }) > 1) return;
  setTimeout(() => {
    tell({ kind: 'objects', objects });
    objects = [];
  }, gatherMilliseconds).unref();
}

async function start(): Promise<RunningStore | undefined> {
  try {
    const options: WorkerOptions = workerData;
    const store = await openStore({ ...options, log: (line) => tell({ kind: 'log', line }), onObject: tellOfObject });
    tell({ kind: 'listening', port: store.port });
    return store;
  } catch (error) {
    tell({ kind: 'refused', error: toPlain(error) });
    port?.close();
    return undefined;
  }
}

/** Structured cloning keeps neither the class of an error nor its fields. */
function toPlain(error: unknown): Extract<FromWorker, { kind: 'refused' }>['error'] {
  if (error instanceof StoreFolderInUse) return { type: 'in-use', folder: error.folder, holder: error.holder };
  if (error instanceof StoreFolderUnwritable) return { type: 'unwritable', folder: error.folder, reason: error.reason };
  if (error instanceof OlderFormat) return { type: 'older' };
  if (!(error instanceof Error)) return { type: 'other', message: String(error), fields: {} };
  return { type: 'other', message: error.message, fields: { ...error } };
}

let answers: Answer[] = [];

async function answer(store: RunningStore, { id, name, length }: Question): Promise<void> {
  const answered: Answer = await store.peek(name, length).then(
    (found) => ({ id, found }),
    (error: unknown) => ({ id, error: String(error) }),
  );
  if (answers.push(answered) > 1) return;
  setImmediate(() => {
    tell({ kind: 'peeked', answers });
    answers = [];
  });
}

const started = start();
port.on('message', async (message: ToWorker) => {
  const store = await started;
  if (message.kind === 'peek') {
    for (const question of message.questions) if (store) void answer(store, question);
    return;
  }
  await store?.close({ drainMilliseconds: message.drainMilliseconds });
  tell({ kind: 'closed' });
});
