import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { ChecksumAlgorithm } from './checksum.ts';
import type { Digests, RunningDigests } from './digest.ts';

export type ToDigestWorker =
  | { kind: 'slots'; slots: SharedArrayBuffer[] }
  | { kind: 'open'; id: number; names: ChecksumAlgorithm[] }
  | { kind: 'update'; id: number; slot: number; bytes: number }
  | { kind: 'finish'; id: number }
  | { kind: 'discard'; id: number };
export type FromDigestWorker =
  | { kind: 'free'; slot: number }
  | { kind: 'finished'; id: number; digests: [ChecksumAlgorithm, Uint8Array][] };

/**
 * Threads that digest large bodies, so that the store's thread can receive the next bytes meanwhile: MD5 is slower than
 * the rest of an upload together. They are started when first needed, at most one fewer than there are cores.
 */
export interface DigestThreads {
  open(names: Iterable<ChecksumAlgorithm>): RunningDigests;
  close(): Promise<void>;
}

interface DigestThread {
  /** Digests under way. */
  load(): number;
  hasEnded(): boolean;
  open(names: ChecksumAlgorithm[]): RunningDigests;
  end(): Promise<unknown>;
}

const mostThreads = 4;
const slotCount = 8;
const slotBytes = 512 * 1024;

export function openDigestThreads(): DigestThreads {
  const most = Math.min(Math.max(availableParallelism() - 1, 1), mostThreads);
  let threads: DigestThread[] = [];

  /** The one with the least work. */
  function chooseThread(): DigestThread {
    threads = threads.filter((thread) => !thread.hasEnded());
    const [least] = [...threads].sort((a, b) => a.load() - b.load());
    if (least && (least.load() === 0 || threads.length >= most)) return least;
    const started = startThread();
    threads.push(started);
    return started;
  }

  return {
    open: (names) => chooseThread().open([...new Set(names)]),
    close: async () => {
      await Promise.all(threads.map((thread) => thread.end()));
    },
  };
}

/**
 * Bytes reach the thread through shared memory: a body is copied into a free slot, half a MiB at a time, and the thread
 * returns the slot when it has digested it. A slot is never held longer than that, so a client that stalls holds up
 * nobody.
 */
function startThread(): DigestThread {
  const worker = new Worker(new URL('../../dist/disk/digest-worker.js', import.meta.url));
  const shared = Array.from({ length: slotCount }, () => new SharedArrayBuffer(slotBytes));
  const slots = shared.map((memory) => Buffer.from(memory));
  const free = [...slots.keys()];
  const waiting: ((slot: number) => void)[] = [];
  const finishing = new Map<number, (digests: Digests) => void>();
  const open = new Set<number>();
  let lastId = 0;
  let failure: Error | undefined;
  /**
   * Callers that wait for the thread. Racing each wait against one promise of the thread's end would leak a
   * reaction per wait for as long as the thread lives.
   */
  const losers = new Set<(error: Error) => void>();
  const fail = (cause: unknown) => {
    failure ??= new Error('The thread that digests uploads ended.', { cause });
    for (const reject of losers) reject(failure);
    losers.clear();
  };
  worker.once('error', fail).once('exit', fail);

  /** A promise resolved by `begin`, and rejected if the thread ends. */
  function untilEnd<T>(begin: (resolve: (value: T) => void) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      if (failure) return reject(failure);
      losers.add(reject);
      begin((value) => {
        losers.delete(reject);
        resolve(value);
      });
    });
  }

  const tell = (message: ToDigestWorker) => worker.postMessage(message);
  tell({ kind: 'slots', slots: shared });
  worker.unref();
  worker.on('message', (message: FromDigestWorker) => {
    if (message.kind === 'finished') {
      finishing.get(message.id)?.(new Map(message.digests.map(([name, digest]) => [name, Buffer.from(digest)])));
      return;
    }
    const next = waiting.shift();
    if (next) next(message.slot);
    else free.push(message.slot);
  });

  async function takeSlot(): Promise<number> {
    const slot = free.pop();
    return slot ?? untilEnd((resolve) => waiting.push(resolve));
  }

  /** Resolves when the bytes have been copied, not when they have been digested. */
  async function send(id: number, chunks: readonly Buffer[]): Promise<void> {
    let slot = await takeSlot();
    let filled = 0;
    for (const chunk of chunks) {
      for (let offset = 0; offset < chunk.length; ) {
        if (filled === slotBytes) {
          tell({ kind: 'update', id, slot, bytes: filled });
          slot = await takeSlot();
          filled = 0;
        }
        const copied = chunk.copy(slots[slot] as Buffer, filled, offset);
        offset += copied;
        filled += copied;
      }
    }
    tell({ kind: 'update', id, slot, bytes: filled });
  }

  function openDigests(names: ChecksumAlgorithm[]): RunningDigests {
    lastId += 1;
    const id = lastId;
    let gathered: Buffer[] = [];
    let gatheredBytes = 0;
    let sending: Promise<void> = Promise.resolve();
    open.add(id);
    tell({ kind: 'open', id, names });

    function sendGathered(): Promise<void> {
      const chunks = gathered;
      gathered = [];
      gatheredBytes = 0;
      sending = sending.then(() => send(id, chunks));
      return sending;
    }

    return {
      update: (chunk) => {
        gathered.push(chunk);
        gatheredBytes += chunk.length;
        return gatheredBytes < slotBytes ? undefined : sendGathered();
      },
      finish: async () => {
        await sendGathered();
        try {
          return await untilEnd<Digests>((resolve) => {
            finishing.set(id, resolve);
            tell({ kind: 'finish', id });
          });
        } finally {
          finishing.delete(id);
          open.delete(id);
        }
      },
      discard: () => {
        if (open.delete(id)) tell({ kind: 'discard', id });
      },
    };
  }

  return {
    load: () => open.size,
    hasEnded: () => failure !== undefined,
    open: openDigests,
    end: () => worker.terminate(),
  };
}
