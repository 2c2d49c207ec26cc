import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  CreateBucketCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { series } from '../../../scripts/series.mjs';
import { maxPackedBytes } from '../src/disk/take-in.ts';
import { hasStrace, killAt } from './kill-at.ts';
import { bucket, folderOfTest, newClient } from './running-store.ts';
import { runCli, startProcess } from './store-process.ts';

if (!hasStrace) console.warn('LEFT OUT: kill -9 while packs are rewritten, because strace is not installed.');

/** The nth time of which system call is the last thing that the process does: early, in the middle, and at the end. */
const ends = series({
  full: [
    ['writev', 1],
    ['writev', 5],
    ['writev', 20],
    ['fdatasync', 4],
    ['fdatasync', 30],
    ['pwrite64', 40],
    ['pwrite64', 70],
    ['unlink', 1],
  ],
  ci: [
    ['writev', 1],
    ['writev', 20],
    ['fdatasync', 4],
    ['unlink', 1],
  ],
  short: [
    ['writev', 5],
    ['unlink', 1],
  ],
} satisfies Record<string, [string, number][]>);

/** More than a pack holds, all of it small. */
const objects = 2200;
const isKept = (index: number) => index % 3 === 0;
const textOf = (key: string) => `${key} `.repeat(Math.floor(maxPackedBytes / (key.length + 1)));

async function inTurns<T>(items: readonly T[], run: (item: T) => Promise<unknown>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const item of left) await run(item);
    }),
  );
}

async function read(client: S3Client, Key: string): Promise<string | undefined> {
  try {
    return await (await client.send(new GetObjectCommand({ Bucket: bucket, Key }))).Body?.transformToString();
  } catch (error) {
    if (error instanceof NoSuchKey) return undefined;
    throw error;
  }
}

/** @returns the keys that the store has said are removed, before it was killed */
async function removeAll(client: S3Client, keys: readonly string[]): Promise<string[]> {
  const removed: string[] = [];
  for (let from = 0; from < keys.length; from += 250) {
    const some = keys.slice(from, from + 250);
    const request = { Bucket: bucket, Delete: { Objects: some.map((Key) => ({ Key })) } };
    const isDone = await client.send(new DeleteObjectsCommand(request)).then(
      () => true,
      () => false,
    );
    if (!isDone) break;
    removed.push(...some);
  }
  return removed;
}

const bytesOfPacks = (folder: string) =>
  readdirSync(join(folder, 'packs')).reduce((sum, pack) => sum + statSync(join(folder, 'packs', pack)).size, 0);

test.runIf(hasStrace)(
  'kill -9 while packs are rewritten: what is kept is there, and what was removed is not',
  async () => {
    const folder = folderOfTest();
    let kept: string[] = [];
    const killed: string[] = [];
    let running = await startProcess(folder);
    for (const [round, [call, time]] of ends.entries()) {
      const client = newClient(running.endpoint);
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
      const keys = Array.from({ length: objects }, (_, index) => `round ${round}, object ${index}`);
      await inTurns(keys, (Key) => client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: textOf(Key) })));
      // Without those of earlier rounds, a whole pack is rewritten in each.
      await removeAll(client, kept);
      kept = keys.filter((_, index) => isKept(index));
      const unwanted = keys.filter((_, index) => !isKept(index));

      const exited = once(running.process, 'exit').then(() => true);
      const { ended } = await killAt(running, call, time);
      const removed = await removeAll(client, unwanted);
      const isKilled = await Promise.race([exited, delay(20_000).then(() => false)]);
      if (isKilled) killed.push(call);
      else running.process.kill('SIGKILL');
      await Promise.all([exited, ended]);
      client.destroy();

      running = await startProcess(folder);
      const after = newClient(running.endpoint);
      const at = `killed at ${call} ${time}`;
      await inTurns(kept, async (Key) => expect(await read(after, Key), `${Key}, ${at}`).toBe(textOf(Key)));
      await inTurns(removed, async (Key) => expect(await read(after, Key), `${Key}, ${at}`).toBeUndefined());
      await removeAll(after, unwanted);
      after.destroy();
    }
    // What shares a call on a slow machine may not come that often; the first ones always come.
    expect(killed).toEqual(expect.arrayContaining(['writev', 'unlink']));
    expect(killed.length).toBeGreaterThanOrEqual(ends.length - 2);
    const live = kept.length * maxPackedBytes;
    // Half of each pack may be unused, and the one that is being written is not rewritten.
    await expect.poll(() => bytesOfPacks(folder)).toBeLessThan(2 * live + 32 * 1024 ** 2);
    expect(await running.end('SIGTERM')).toBe(0);
    const verified = await runCli(['verify', '--data', folder]);
    expect(verified).toMatchObject({ code: 0, output: expect.stringMatching(/: no problems/) });
  },
);
