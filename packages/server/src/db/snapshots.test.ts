import { EventEmitter, once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { serveSnapshots, takeSnapshot } from './snapshots.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'cadiz-snapshots-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const log = pino({ enabled: false });
const db = { copyTo: (folder: string) => mkdir(folder).then(() => undefined) };

test('gives a copy, and removes it when the connection ends', async () => {
  const server = await serveSnapshots(db, root, log);
  const { folder, release } = await takeSnapshot(root);
  expect(await readdir(folder)).toEqual(['pgdata']);
  release();
  await expect.poll(() => readdir(root)).toEqual(['snapshots.sock']);
  await server.close();
  expect(await readdir(root)).toEqual([]);
});

test('removes a copy whose command ended while it was being made', async () => {
  const steps = new EventEmitter();
  const slow = {
    async copyTo(folder: string) {
      const goOn = once(steps, 'go on');
      steps.emit('started');
      await goOn;
      await mkdir(folder, { recursive: true });
      steps.emit('copied');
    },
  };
  const server = await serveSnapshots(slow, root, log);
  const started = once(steps, 'started');
  const socket = connect(join(root, 'snapshots.sock'));
  await started;
  socket.destroy();
  const closed = server.close();
  // Time enough to remove it too early.
  await Promise.race([closed, setTimeout(100)]);
  const copied = once(steps, 'copied');
  steps.emit('go on');
  await Promise.all([copied, closed]);
  expect(await readdir(root)).toEqual([]);
});

test('a folder whose path is too long for a socket has none, and nobody is given the copy of another folder', async () => {
  const parent = join(root, 'x'.repeat(120));
  const [ours, theirs] = [join(parent, 'ours'), join(parent, 'theirs')] as const;
  await mkdir(ours, { recursive: true });
  await mkdir(theirs);
  const server = await serveSnapshots(db, theirs, log);
  const taken = takeSnapshot(ours).then(
    ({ release }) => release(),
    (error: Error) => error.message,
  );
  expect(await taken).toMatch(/ bytes: stop the service, or move its data to a folder with a shorter path\.$/);
  expect((await readdir(root, { recursive: true })).length).toBe(3);
  await server.close();
});
