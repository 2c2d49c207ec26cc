import { chmodSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Logger } from 'pino';
import { toMessage } from './database-errors.ts';
import type { Database } from './open.ts';

/** Beside the database, in a folder that only its owner can use. */
const socketPath = (dataDir: string) => join(dataDir, 'snapshots.sock');
/** What the address of a socket (`sun_path`) holds before its final NUL. */
const longestSocketPath = process.platform === 'linux' ? 107 : 103;
const prefix = 'snapshot-';

type Answer = { folder: string } | { error: string };

/**
 * Gives other processes of this user on this machine copies of the embedded database, which is open to one process only.
 * Whoever connects to the socket is told of a folder with a copy, which is removed when the connection ends.
 */
export async function serveSnapshots(
  db: Pick<Database, 'copyTo'>,
  dataDir: string,
  log: Logger,
): Promise<{ close(): Promise<void> }> {
  const { copyTo } = db;
  if (copyTo === undefined) return { close: async () => undefined };
  await removeLeftovers(dataDir);
  const sockets = new Set<Socket>();
  const removals = new Set<Promise<void>>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const made = mkdtemp(join(dataDir, prefix));
    const copied = made.then((folder) => copyTo(join(folder, 'pgdata')));
    // The other side ends, or is killed, perhaps while the database is being copied.
    const ended = new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve));
    const removal = Promise.allSettled([ended, copied])
      .then(async () => rm(await made, { recursive: true, force: true }))
      .catch((error: unknown) => log.warn({ error }, 'Could not remove a copy of the database; the next start does'));
    removals.add(removal);
    void removal.finally(() => {
      sockets.delete(socket);
      removals.delete(removal);
    });
    // Without a listener, the end of the connection would go unnoticed.
    socket.resume();
    copied
      .then(async (): Promise<Answer> => ({ folder: await made }))
      .catch((error: unknown): Answer => ({ error: toMessage(error) }))
      .then((told) => socket.write(`${JSON.stringify(told)}\n`));
  });
  try {
    const path = requireSocketPath(dataDir);
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve));
    chmodSync(path, 0o600);
  } catch (error) {
    log.warn({ error }, 'A backup needs the service to be stopped: its socket in the data folder could not be made');
  }
  return {
    async close() {
      for (const socket of sockets) socket.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
      await Promise.all(removals);
    },
  };
}

async function removeLeftovers(dataDir: string): Promise<void> {
  const names = await readdir(dataDir);
  const old = names.filter((name) => name.startsWith(prefix) || join(dataDir, name) === socketPath(dataDir));
  await Promise.all(old.map((name) => rm(join(dataDir, name), { recursive: true, force: true })));
}

/**
 * Has the running service copy its embedded database. `release` has it remove the copy.
 * @returns the folder of the copy, to be opened like that of a service
 * @throws Error in a sentence
 */
export async function takeSnapshot(dataDir: string): Promise<{ folder: string; release(): void }> {
  const socket = connect(requireSocketPath(dataDir));
  // What breaks later is noticed by whoever reads the copy.
  socket.on('error', () => undefined);
  try {
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    for await (const line of createInterface({ input: socket })) {
      const answer = JSON.parse(line) as Answer;
      if ('error' in answer) throw new Error(`The service could not copy its database: ${answer.error}.`);
      return { folder: answer.folder, release: () => void socket.destroy() };
    }
    throw new Error('The service ended while it copied its database.');
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/**
 * Node 20 cuts off a longer path: the socket would be outside the folder, where that of another folder could be as well.
 * @throws Error in a sentence
 */
function requireSocketPath(dataDir: string): string {
  const path = socketPath(dataDir);
  if (Buffer.byteLength(path) <= longestSocketPath) return path;
  throw new Error(
    `The path of the socket ${path} has more than ${longestSocketPath} bytes: stop the service, or move its data to a folder with a shorter path.`,
  );
}
