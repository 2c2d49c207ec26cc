import { join } from 'node:path';
import { CreateBucketCommand, DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { expect, onTestFinished, test } from 'vitest';
import { mountLoopDisk } from './loop-disk.ts';
import { bucket, filed, newClient } from './running-store.ts';
import { runCli, startProcess } from './store-process.ts';

test('a disk that the kernel has turned read-only: 503, reads go on, and verify says what is wrong', async ({
  skip,
}) => {
  const disk = mountLoopDisk(100);
  if ('reason' in disk) {
    console.warn(`LEFT OUT: no disk could be mounted to turn it read-only: ${disk.reason}`);
    return skip('no disk could be mounted');
  }
  onTestFinished(() => disk.remove());
  const dataDir = join(disk.path, 'data');
  const running = await startProcess(dataDir);
  const client = newClient(running.endpoint);
  const put = (Key: string, Body: string) => client.send(new PutObjectCommand({ Bucket: bucket, Key, Body }));
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  await put('small', 'small');
  await put('large', filed('large'));
  disk.turnReadOnly();

  const unavailable = { name: 'ServiceUnavailable', $metadata: { httpStatusCode: 503 } };
  await expect(put('small', 'again')).rejects.toMatchObject(unavailable);
  await expect(put('large', filed('again'))).rejects.toMatchObject(unavailable);
  const removal = client.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'small' }));
  await expect(removal).rejects.toMatchObject(unavailable);
  for (const [Key, text] of [
    ['small', 'small'],
    ['large', filed('large')],
  ]) {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key }));
    expect(await Body?.transformToString()).toBe(text);
  }
  expect(await running.end('SIGTERM')).toBe(0);
  for (const args of [['verify'], ['verify', '--rebuild'], []]) {
    const { code, output } = await runCli([...args, '--data', dataDir]);
    expect([code, output]).toEqual([1, expect.stringContaining('is on a disk that is mounted read-only (EROFS)')]);
  }
});
