import { existsSync } from 'node:fs';
import { cp, mkdir, open, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import type { PGlite } from '@electric-sql/pglite';
import { createDurable, DurableFs, requireDurableCommits } from './durable-fs.ts';
import type { FromWorker, ToWorker, WorkerData } from './embedded-messages.ts';

const { folder, marker, template } = workerData as WorkerData;
const sync = new Uint8Array([0x53, 0, 0, 0, 4]);
const terminate = 0x58;
const say = (message: FromWorker, transfer: ArrayBuffer[] = []) => parentPort?.postMessage(message, transfer);

let fs: DurableFs;
let pglite: PGlite;
try {
  ({ fs, pglite } = await openFolder());
  await requireDurableCommits(pglite, () => fs.fsyncs);
} catch (error) {
  const { name, message, code, path } = error as NodeJS.ErrnoException;
  say({ kind: 'refused', name, message, code, path });
  throw error;
}

let current = 0;
// One after the other, in the order in which they came: PGlite has one session.
let work = Promise.resolve();
parentPort?.on('message', (message: ToWorker) => {
  work = work.then(() => handle(message));
});
say({ kind: 'ready' });

async function handle(message: ToWorker): Promise<void> {
  if (message.kind === 'countFsyncs') return say({ kind: 'fsyncs', count: fs.fsyncs });
  if (message.kind === 'connect') {
    current = message.client;
    // An earlier client may have gone in the middle of anything.
    await pglite.execProtocolRaw(sync);
    await pglite.exec('rollback');
    await pglite.exec('discard all');
    return;
  }
  if (message.kind === 'close') {
    await pglite.close();
    process.exit(0);
  }
  // A client that says goodbye must not end the only session, and one that has been replaced has nothing to say.
  if (message.client !== current || message.bytes[0] === terminate) return;
  const answer = await pglite.execProtocolRaw(message.bytes);
  const bytes = new Uint8Array(answer);
  say({ kind: 'data', client: message.client, bytes }, [bytes.buffer]);
}

/**
 * A folder without its marker is the remains of a first start that was cut off: nothing was ever acknowledged from
 * it, and it is made anew.
 */
async function openFolder(): Promise<{ fs: DurableFs; pglite: PGlite }> {
  if (existsSync(marker)) {
    const fs = new DurableFs(folder);
    return { fs, pglite: await createDurable(fs) };
  }
  await rm(folder, { recursive: true, force: true });
  if (existsSync(template)) await cp(template, folder, { recursive: true });
  else await mkdir(folder, { recursive: true, mode: 0o700 });
  const fs = new DurableFs(folder, false);
  const pglite = await createDurable(fs);
  fs.writesThrough = true;
  await pglite.exec('checkpoint');
  await syncTree(folder);
  await syncFile(marker, 'w');
  await syncFile(dirname(marker), 'r');
  return { fs, pglite };
}

async function syncTree(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true });
  await Promise.all(
    entries.map((entry) => {
      const child = join(path, entry.name);
      return entry.isDirectory() ? syncTree(child) : syncFile(child, 'r');
    }),
  );
  await syncFile(path, 'r');
}

async function syncFile(path: string, flags: 'r' | 'w'): Promise<void> {
  const file = await open(path, flags, 0o600);
  await file.sync();
  await file.close();
}
