import { parentPort } from 'node:worker_threads';
import { openDigests, type RunningDigests } from './digest.ts';
import type { FromDigestWorker, ToDigestWorker } from './digest-threads.ts';

// A thread started by `openDigestThreads`.
const port = parentPort;
if (!port) throw new Error('digest-worker.js is started by openDigestThreads, not on its own.');

const running = new Map<number, RunningDigests>();
let slots: Buffer[] = [];

function tell(message: FromDigestWorker): void {
  port?.postMessage(message);
}

async function finish(id: number): Promise<void> {
  const digests = await running.get(id)?.finish();
  running.delete(id);
  tell({ kind: 'finished', id, digests: [...(digests ?? [])] });
}

port.on('message', (message: ToDigestWorker) => {
  switch (message.kind) {
    case 'slots':
      slots = message.slots.map((memory) => Buffer.from(memory));
      break;
    case 'open':
      running.set(message.id, openDigests(message.names));
      break;
    case 'update': {
      const bytes = slots[message.slot]?.subarray(0, message.bytes);
      if (bytes) void running.get(message.id)?.update(bytes);
      tell({ kind: 'free', slot: message.slot });
      break;
    }
    case 'finish':
      void finish(message.id);
      break;
    case 'discard':
      running.delete(message.id);
  }
});
