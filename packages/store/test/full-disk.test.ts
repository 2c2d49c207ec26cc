import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { expect, onTestFinished, test } from 'vitest';
import { maxPackedBytes } from '../src/disk/take-in.ts';
import { mountLoopDisk } from './loop-disk.ts';
import { md5 } from './multipart.ts';
import { bucket, listFiles, newClient } from './running-store.ts';
import { runCli, startProcess } from './store-process.ts';

const megabyte = 1024 * 1024;

/** The answer to a request that a full disk may refuse. */
async function statusOf(request: Promise<unknown>): Promise<number> {
  try {
    await request;
    return 200;
  } catch (error) {
    if (error instanceof S3ServiceException) return error.$metadata.httpStatusCode ?? 0;
    throw error;
  }
}

/** Something else fills the disk, except for this many bytes. */
function takeSpace(path: string, leaveBytes: number): void {
  const { bavail, bsize } = statfsSync(path);
  writeFileSync(join(path, 'ballast'), Buffer.alloc(Math.max(0, bavail * bsize - leaveBytes)));
}

const giveSpace = (path: string) => rmSync(join(path, 'ballast'));

test('a full disk: 507, reads and removals go on, and with room again so do writes, by themselves', async ({
  skip,
}) => {
  const disk = mountLoopDisk(100);
  if ('reason' in disk) {
    console.warn(`LEFT OUT: no disk could be mounted to fill it: ${disk.reason}`);
    return skip('no disk could be mounted');
  }
  onTestFinished(() => disk.remove());
  const dataDir = join(disk.path, 'data');
  const running = await startProcess(dataDir);
  onTestFinished(() => void running.process.kill('SIGKILL'));
  const client = newClient(running.endpoint);
  const body = (megabytes: number) => Buffer.alloc(megabytes * megabyte, megabytes);
  const put = (Key: string, megabytes: number) =>
    statusOf(client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: body(megabytes) })));
  const remove = (Key: string) => statusOf(client.send(new DeleteObjectCommand({ Bucket: bucket, Key })));
  const read = async (Key: string) => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key }));
    return md5(Buffer.from((await Body?.transformToByteArray()) ?? []));
  };
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  expect(await put('kept', 6)).toBe(200);
  const upload = { Bucket: bucket, Key: 'parts' };
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(upload));
  const sendPart = (PartNumber: number) =>
    client.send(new UploadPartCommand({ ...upload, UploadId, PartNumber, Body: body(5) }));
  const first = await sendPart(1);

  // The store itself fills the disk. It keeps enough to remove something.
  let objects = 0;
  while ((await put(`filling/${objects}`, 4)) === 200) objects += 1;
  expect(objects).toBeGreaterThan(5);
  expect(await put('too much', 4)).toBe(507);
  expect(await statusOf(sendPart(2))).toBe(507);
  const copy = { Bucket: bucket, Key: 'copied', CopySource: `${bucket}/kept` };
  expect(await statusOf(client.send(new CopyObjectCommand(copy)))).toBe(507);
  expect(await read('kept')).toBe(md5(body(6)));
  expect(listFiles(dataDir)).toHaveLength(objects + 2);
  expect(await remove('filling/0')).toBe(200);
  expect(await put('filling/0', 3)).toBe(200);

  // Something else fills it to the last byte. Everything refused has changed nothing.
  takeSpace(disk.path, 0);
  const full = [await put('tiny', 0), await put('kept', 1), await remove('filling/1')];
  expect(full[1]).toBe(507);
  expect(full.filter((status) => ![200, 503, 507].includes(status))).toEqual([]);
  expect(await read('kept')).toBe(md5(body(6)));
  expect(await read('filling/0')).toBe(md5(body(3)));

  giveSpace(disk.path);
  expect(await remove('filling/2')).toBe(200);
  expect(await remove('filling/3')).toBe(200);
  const second = await sendPart(2);
  const Parts = [first, second].map(({ ETag }, at) => ({ PartNumber: at + 1, ETag }));
  await client.send(new CompleteMultipartUploadCommand({ ...upload, UploadId, MultipartUpload: { Parts } }));
  expect(await read('parts')).toBe(md5(Buffer.concat([body(5), body(5)])));
  client.destroy();
  expect(await running.end('SIGTERM')).toBe(0);
  const verified = await runCli(['verify', '--data', dataDir]);
  expect(verified).toMatchObject({ code: 0, output: expect.stringMatching(/: no problems\.\n$/) });
});

test('a disk that fills up with small objects: what was acknowledged is there, and what was refused is not', async ({
  skip,
}) => {
  const disk = mountLoopDisk(100);
  if ('reason' in disk) {
    console.warn(`LEFT OUT: no disk could be mounted to fill it with small objects: ${disk.reason}`);
    return skip('no disk could be mounted');
  }
  onTestFinished(() => disk.remove());
  const dataDir = join(disk.path, 'data');
  const running = await startProcess(dataDir);
  onTestFinished(() => void running.process.kill('SIGKILL'));
  const client = newClient(running.endpoint);
  const textOf = (key: string) => key.padEnd(maxPackedBytes, '.');
  const stored = new Set<string>();
  const refused = new Set<string>();
  async function put(Key: string): Promise<void> {
    const status = await statusOf(client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: textOf(Key) })));
    expect([200, 503, 507]).toContain(status);
    (status === 200 ? stored : refused).add(Key);
  }
  const putAll = (count: number, prefix: string) =>
    Promise.all(
      Array.from({ length: 16 }, async (_, client) => {
        for (let index = client; index < count; index += 16) await put(`${prefix}/${index}`);
      }),
    );
  async function compare(): Promise<void> {
    for (const Key of stored) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key }));
      expect((await Body?.transformToString()) === textOf(Key), Key).toBe(true);
    }
    for (const Key of refused)
      expect(await statusOf(client.send(new GetObjectCommand({ Bucket: bucket, Key }))), Key).toBe(404);
  }

  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  await putAll(200, 'before');
  expect(refused.size).toBe(0);
  // Little is left, and then nothing, in the middle of the writing of a pack.
  takeSpace(disk.path, 5 * megabyte);
  await putAll(320, 'filling');
  expect(refused.size).toBeGreaterThan(0);
  giveSpace(disk.path);
  const filling = putAll(300, 'filled');
  await expect.poll(() => stored.has('filled/32'), { interval: 5 }).toBe(true);
  takeSpace(disk.path, 0);
  await filling;
  await compare();

  giveSpace(disk.path);
  refused.clear();
  await putAll(100, 'after');
  expect(refused.size).toBe(0);
  await compare();
  client.destroy();
  expect(await running.end('SIGTERM')).toBe(0);
  const verified = await runCli(['verify', '--data', dataDir]);
  expect(verified).toMatchObject({ code: 0, output: expect.stringMatching(/: no problems\.\n$/) });
});
