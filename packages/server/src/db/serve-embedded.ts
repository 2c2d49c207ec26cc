import { constants, cpSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { PGlite } from '@electric-sql/pglite';
import type { NodeFS } from '@electric-sql/pglite/nodefs';
import { DatabaseNotDurable, toMessage } from './database-errors.ts';
import { commitsReachTheDisk, openPGlite } from './durable-fs.ts';
import { prepareFolder } from './embedded-folder.ts';
import type { FromWorker, ToWorker, WorkerData } from './embedded-messages.ts';
import { openWireSession, type WireSession } from './wire-session.ts';

const terminate = 0x58;
/** What PostgreSQL logs before it gives up. */
const fatal = /\b(?:FATAL|PANIC): +(.*)/;

/** A file system that counts its flushes to the disk. */
type CountingFs = NodeFS & { readonly fsyncs: number };

/** Runs the embedded database in this worker thread until the service's thread sends `close`. */
export async function serveEmbedded(openFs: (folder: string) => CountingFs): Promise<void> {
  const { folder, template } = workerData as WorkerData;
  let fs: CountingFs;
  let pglite: PGlite;
  let session: WireSession;
  // For a full disk, PGlite only throws `Aborted()`; PostgreSQL has logged the reason.
  let lastLogLine: string | undefined;
  try {
    await prepareFolder(folder, template);
    fs = openFs(folder);
    pglite = await openPGlite(fs, (line) => {
      lastLogLine = fatal.exec(line)?.[1] ?? lastLogLine;
    });
    session = openWireSession(pglite, (cause) => {
      say({ kind: 'crashed', reason: lastLogLine ?? String(cause) });
      process.exit(1);
    });
    if (!(await commitsReachTheDisk(pglite, () => fs.fsyncs))) throw new DatabaseNotDurable(folder);
  } catch (error) {
    const { name, message, code, path } = error as NodeJS.ErrnoException;
    say({ kind: 'refused', name, message: lastLogLine ?? message, ...(code && { code }), ...(path && { path }) });
    process.exit(1);
  }

  let current = 0;

  parentPort?.on('message', (message: ToWorker) => {
    if (message.kind === 'connect') {
      current = message.client;
      session.reset();
    }
    if (message.kind === 'data') answer(message.client, message.bytes);
    if (message.kind === 'countFsyncs') say({ kind: 'fsyncs', count: fs.fsyncs });
    if (message.kind === 'copy') say(copy(folder, message.to));
    if (message.kind === 'close') void pglite.close().finally(() => process.exit(0));
  });
  say({ kind: 'ready' });

  function answer(client: number, messages: Uint8Array): void {
    // A client that disconnects must not end the only session, and a replaced client has nothing to say.
    if (client !== current || messages[0] === terminate) return;
    session.send(messages, (bytes) => say({ kind: 'data', client, bytes }, [bytes.buffer]));
  }
}

/**
 * PostgreSQL runs in this thread, so nothing changes while the files are copied: the copy is what a power cut would have
 * left, from which PostgreSQL recovers when it is opened. File systems that can share blocks copy nothing.
 */
function copy(from: string, to: string): FromWorker {
  try {
    // Without a filter, Node 22 and later copy in C++, which on a full disk ends the process: https://github.com/nodejs/node/issues/63970
    cpSync(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE, filter: () => true });
    return { kind: 'copied', to };
  } catch (error) {
    return { kind: 'copied', to, error: toMessage(error) };
  }
}

function say(message: FromWorker, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}
