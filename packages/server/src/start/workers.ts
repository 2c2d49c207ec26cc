import type { ChildProcess } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Setup } from '../identity/sign-up/setup.ts';
import type { Config } from '../settings/config.ts';

// One process opens the port and hands each connection to one of its children, each of which is the whole service. They share
// nothing but that port, PostgreSQL and the object store: they are what several machines would be.

const firstWaitMilliseconds = 500;
const longestWaitMilliseconds = 30_000;
/** A worker that has lived this long ended for a new reason. */
const steadyMilliseconds = 60_000;

/** What a worker tells its parent once it serves. */
export interface Ready {
  setup: Setup | undefined;
}

/** What one process with the whole service is to its caller, for several. */
export interface RunningWorkers extends Ready {
  /** Never resolves: a worker that ends is replaced. */
  failed: Promise<Error>;
  /** Has every worker stop as one process does, and waits for all of them. */
  stop(): Promise<void>;
}

/**
 * Starts `config.workers` processes, the first one alone: it migrates the database and says what is wrong. From then on, a worker
 * that ends is replaced, after a wait that doubles each time if they keep ending.
 * @param program the file that each of them runs; it must tell its parent `Ready`, and stop on SIGTERM
 * @returns once all of them serve
 * @throws Error with a sentence if one ends before that; it has said why
 */
export async function startWorkers(config: Config, log: Logger, program: string): Promise<RunningWorkers> {
  cluster.setupPrimary({ exec: program, args: [] });
  const stopping = new AbortController();
  const running: Promise<void>[] = [];
  const { setup } = await open(0);
  await Promise.all(Array.from({ length: config.workers - 1 }, (_, index) => open(index + 1)));

  async function open(place: number): Promise<Ready> {
    const worker = startWorker(config, place);
    const ready = await untilReady(worker);
    running.push(keepRunning(worker, place));
    return ready;
  }

  async function keepRunning(started: Worker, place: number): Promise<void> {
    let worker = started;
    for (let failures = 0; ; ) {
      const since = performance.now();
      const stop = () => worker.process.kill('SIGTERM');
      stopping.signal.addEventListener('abort', stop);
      const { code, reason } = await untilEnded(worker);
      stopping.signal.removeEventListener('abort', stop);
      if (stopping.signal.aborted) return;
      failures = performance.now() - since > steadyMilliseconds ? 1 : failures + 1;
      const milliseconds = Math.min(longestWaitMilliseconds, firstWaitMilliseconds * 2 ** (failures - 1));
      const level = code === 0 ? 'info' : 'error';
      log[level](
        { worker: place, workerPid: worker.process.pid, code, reason, milliseconds },
        'A worker has ended; another one follows',
      );
      await delay(milliseconds, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      worker = startWorker(config, place);
    }
  }

  return {
    setup,
    failed: new Promise(() => undefined),
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

/** @param place from 0; the worker that replaces another has its place, and so its port for metrics */
function startWorker({ metricsPort }: Config, place: number): Worker {
  // It has no workers of its own, which would need further ports for metrics.
  const alone = { WORKERS: '1' };
  const worker = cluster.fork(
    metricsPort === undefined ? alone : { ...alone, METRICS_PORT: String(metricsPort + place) },
  );
  closeUntaken(worker.process);
  return worker;
}

/**
 * Node hands a worker one connection of each port at a time, and forgets it if the worker ends before it has taken it: the client
 * would wait without end.
 */
function closeUntaken(worker: ChildProcess): void {
  const handed = new Map<string, { close(): void }>();
  const { send } = worker;
  worker.send = (...args: unknown[]): boolean => {
    const [{ act, key }, connection] = args as [{ act?: string; key: string }, { close(): void }];
    if (act === 'newconn') handed.set(key, connection);
    return Reflect.apply(send, worker, args);
  };
  worker.once('exit', () => {
    // What was taken is closed already, here, and closing it again does nothing.
    for (const connection of handed.values()) connection.close();
  });
}

async function untilReady(worker: Worker): Promise<Ready> {
  const ready = once(worker, 'message').then(([message]: Ready[]) => ({ message, reason: undefined }));
  const ended = untilEnded(worker).then(({ reason }) => ({ message: undefined, reason }));
  const { message, reason } = await Promise.race([ready, ended]);
  if (message) return message;
  if (reason === undefined) throw new Error('A worker ended before it served, and has said why.');
  throw new Error(`A worker ended before it served: ${reason instanceof Error ? reason.message : reason}.`);
}

/** @returns its exit code, or else the signal or the error that ended it */
async function untilEnded(worker: Worker): Promise<{ code: number | null; reason: unknown }> {
  try {
    const [code, signal] = await once(worker, 'exit');
    return { code, reason: signal ?? undefined };
  } catch (error) {
    return { code: null, reason: error };
  }
}
