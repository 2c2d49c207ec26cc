import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { expect, onTestFinished, test } from 'vitest';
import { series } from '../../../scripts/series.mjs';
import { type Allowed, findBroken, readStates, settle, writeUntilGone } from './history.ts';
import { mountLoopDisk } from './loop-disk.ts';
import { bucket, newClient, newFolder, until } from './running-store.ts';
import { runCli, type StoreProcess, startProcess } from './store-process.ts';

/** Lets the writers work on a store, and calls `end` in the middle, which must end the store. */
async function writeAndEnd(
  running: StoreProcess,
  allowed: Allowed,
  enough: number,
  end: () => Promise<void>,
): Promise<void> {
  const client = newClient(running.endpoint);
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  let acknowledged = 0;
  let ending: Promise<void> | undefined;
  await writeUntilGone(client, allowed, () => {
    acknowledged += 1;
    if (acknowledged === enough) ending = end();
  });
  expect(acknowledged).toBeGreaterThanOrEqual(enough);
  await ending;
  client.destroy();
}

/** Starts the store again: everything acknowledged is there, and nothing else is on the disk. */
async function checkAfter(dataDir: string, allowed: Allowed): Promise<void> {
  const running = await startProcess(dataDir);
  const client = newClient(running.endpoint);
  const found = await readStates(client, allowed.keys());
  expect(findBroken(allowed, found)).toEqual([]);
  settle(allowed, found);
  client.destroy();
  expect(await running.end('SIGTERM')).toBe(0);
  const verified = await runCli(['verify', '--data', dataDir]);
  expect(verified).toMatchObject({
    code: 0,
    output: expect.stringMatching(/: no problems( \(\d+ files? in set-aside\/\))?\.\n$/),
  });
}

/** Once all of its threads are stopped, none of its system calls is under way any more. */
async function stopProcess({ process: { pid } }: StoreProcess): Promise<void> {
  process.kill(pid ?? 0, 'SIGSTOP');
  const tasks = `/proc/${pid}/task`;
  const stateOf = (task: string) => /\) (\S)/.exec(readFileSync(`${tasks}/${task}/stat`, 'utf8'))?.[1];
  await until(() => readdirSync(tasks).every((task) => stateOf(task) === 'T'));
}

test('kill -9 during puts, copies, multipart uploads and deletes: everything acknowledged is there, and nothing else', async () => {
  const dataDir = newFolder();
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  const allowed: Allowed = new Map();
  for (const enough of series({ full: [20, 75, 131, 52], short: [20, 75] })) {
    const running = await startProcess(dataDir);
    await writeAndEnd(running, allowed, enough, async () => {
      await running.end('SIGKILL');
    });
    await checkAfter(dataDir, allowed);
  }
});

test('a power cut during puts, copies, multipart uploads and deletes: the same', async ({ skip }) => {
  const mounted = mountLoopDisk(192);
  if ('reason' in mounted) {
    console.warn(`LEFT OUT: no disk could be mounted to cut its power: ${mounted.reason}`);
    return skip('no disk could be mounted');
  }
  let disk = mounted;
  onTestFinished(() => disk.remove());
  const allowed: Allowed = new Map();
  for (const enough of series({ full: [20, 150, 75, 231, 52], short: [20, 75] })) {
    const running = await startProcess(`${disk.path}/data`);
    await writeAndEnd(running, allowed, enough + Math.floor(Math.random() * 8), async () => {
      await stopProcess(running);
      const cut = disk.cutPower();
      // Answers that left before the stop may still be on their way: they count.
      await delay(100);
      await running.end('SIGKILL');
      disk = cut;
    });
    await checkAfter(`${disk.path}/data`, allowed);
  }
});
