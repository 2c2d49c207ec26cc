import { statfsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { createPresigner } from '@cadiz/sigv4';
import { expect, onTestFinished, test } from 'vitest';
import { mountLoopDisk } from './loop-disk.ts';
import { md5 } from './multipart.ts';
import { bucket, keys, listFiles, newClient, region, targetOf, until } from './running-store.ts';
import { runCli, startProcess } from './store-process.ts';

const megabyte = 1024 * 1024;

/** A store on a separate disk; undefined if none can be mounted. */
async function startOnDisk(megabytes: number) {
  const disk = mountLoopDisk(megabytes);
  if ('reason' in disk) {
    console.warn(`LEFT OUT: no disk could be mounted to fill it: ${disk.reason}`);
    return undefined;
  }
  onTestFinished(() => disk.remove());
  const dataDir = join(disk.path, 'data');
  const running = await startProcess(dataDir);
  onTestFinished(() => void running.process.kill('SIGKILL'));
  const client = newClient(running.endpoint);
  onTestFinished(() => client.destroy());
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  const put = async (Key: string, Body: Buffer): Promise<number> => {
    try {
      const { $metadata } = await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body }));
      return $metadata.httpStatusCode ?? 0;
    } catch (error) {
      if (error instanceof S3ServiceException) return error.$metadata.httpStatusCode ?? 0;
      throw error;
    }
  };
  const presign = createPresigner({ ...keys, region, endpoint: running.endpoint });
  /** Starts an upload that promises this many bytes, and sends only a few. */
  const beginSlow = (key: string, contentLength: number): Socket => {
    const url = presign({ method: 'PUT', bucket, key, expiresInSeconds: 60, now: Date.now(), contentLength });
    const { port, host } = new URL(url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`PUT ${targetOf(url)} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${contentLength}\r\n\r\nhello`);
    // A drip of bytes keeps the connection from being cut.
    const drip = setInterval(() => socket.write('x'.repeat(100)), 100);
    socket.on('error', () => undefined).on('close', () => clearInterval(drip));
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  return { disk, dataDir, running, client, put, beginSlow };
}

test('bytes that uploads promise but do not send take no room from others', async ({ skip }) => {
  const started = await startOnDisk(150);
  if (!started) return skip('no disk could be mounted');
  const { disk, dataDir, put, beginSlow } = started;
  const slow = [beginSlow('slow/1', 60 * megabyte), beginSlow('slow/2', 60 * megabyte)];
  await until(() => listFiles(dataDir).length === 2);
  // More than would be left if they got everything they promised.
  const { bavail, bsize } = statfsSync(disk.path);
  const body = Buffer.alloc(bavail * bsize - 60 * megabyte, 'x');
  expect(await put('quick', body)).toBe(200);
  expect(await put('more', Buffer.alloc(30 * megabyte))).toBe(200);
  for (const socket of slow) socket.destroy();
  await until(() => listFiles(dataDir).length === 2);
});

test('uploads that do not all fit give way one by one; they leave nothing behind, and everything stored is whole', async ({
  skip,
}) => {
  const started = await startOnDisk(150);
  if (!started) return skip('no disk could be mounted');
  const { dataDir, running, client, put } = started;
  const bodyOf = (at: number) => Buffer.alloc(40 * megabyte, at);
  const statuses = await Promise.all(Array.from({ length: 5 }, (_, at) => put(`${at}`, bodyOf(at))));
  const stored = statuses.flatMap((status, at) => (status === 200 ? [at] : []));
  expect(statuses.filter((status) => status !== 200 && status !== 507)).toEqual([]);
  expect([stored.length >= 2, stored.length <= 3]).toEqual([true, true]);
  for (const at of stored) {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: `${at}` }));
    expect(md5(Buffer.from((await Body?.transformToByteArray()) ?? []))).toBe(md5(bodyOf(at)));
  }
  await until(() => listFiles(dataDir).length === stored.length);
  // The uploads never needed room that a removal would have missed.
  await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: `${stored[0]}` }));
  await until(() => listFiles(dataDir).length === stored.length - 1);
  expect(await put('again', bodyOf(7))).toBe(200);
  client.destroy();
  expect(await running.end('SIGTERM')).toBe(0);
  const verified = await runCli(['verify', '--data', dataDir]);
  expect(verified).toMatchObject({ code: 0, output: expect.stringMatching(/: no problems\.\n$/) });
});
