import { once } from 'node:events';
import { rmSync } from 'node:fs';
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { expect, onTestFinished, test } from 'vitest';
import { series } from '../../../scripts/series.mjs';
import { maxPackedBytes } from '../src/disk/take-in.ts';
import { hasStrace, killAt } from './kill-at.ts';
import { bucket, filed, listFiles, newClient, newFolder, until } from './running-store.ts';
import { startProcess } from './store-process.ts';

if (!hasStrace) console.warn('LEFT OUT: kill -9 at each stage, because strace is not installed.');

/** Every system call that changes the disk, and the answers. strace counts each kind separately. */
const stages = ['pwrite64', 'writev', 'fdatasync', 'fsync', 'rename', 'unlink'];
const mostOfAKind = 20;
const absent = 'absent';
const name = { Bucket: bucket, Key: 'key' };

/** Prepares an upload, so that the rest is one request. */
async function prepareUpload(client: S3Client, body: string): Promise<() => Promise<unknown>> {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(name));
  const { ETag } = await client.send(new UploadPartCommand({ ...name, UploadId, PartNumber: 1, Body: body }));
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] };
  return () => client.send(new CompleteMultipartUploadCommand({ ...name, UploadId, MultipartUpload }));
}

interface Operation {
  /** What the key has before; by default, something in a file. */
  before?: string;
  /** What the key has afterwards. */
  wanted: string;
  prepare(client: S3Client): Promise<() => Promise<unknown>>;
}

const operations: Record<string, Operation> = {
  put: {
    wanted: filed('put'),
    prepare: async (client) => () => client.send(new PutObjectCommand({ ...name, Body: filed('put') })),
  },
  'put of few bytes': {
    wanted: 'put',
    prepare: async (client) => () => client.send(new PutObjectCommand({ ...name, Body: 'put' })),
  },
  'put of few bytes over few': {
    before: 'before',
    wanted: 'put',
    prepare: async (client) => () => client.send(new PutObjectCommand({ ...name, Body: 'put' })),
  },
  'put of many bytes over few': {
    before: 'before',
    wanted: filed('put'),
    prepare: async (client) => () => client.send(new PutObjectCommand({ ...name, Body: filed('put') })),
  },
  copy: {
    wanted: filed('source'),
    prepare: async (client) => () =>
      client.send(new CopyObjectCommand({ ...name, CopySource: `${bucket}/source`, MetadataDirective: 'REPLACE' })),
  },
  complete: { wanted: 'a part', prepare: (client) => prepareUpload(client, 'a part') },
  delete: { wanted: absent, prepare: async (client) => () => client.send(new DeleteObjectCommand(name)) },
  'delete of few bytes': {
    before: 'before',
    wanted: absent,
    prepare: async (client) => () => client.send(new DeleteObjectCommand(name)),
  },
};

async function read(client: S3Client): Promise<string> {
  try {
    const { Body } = await client.send(new GetObjectCommand(name));
    return (await Body?.transformToString()) ?? '';
  } catch (error) {
    if (error instanceof NoSuchKey) return absent;
    throw error;
  }
}

/** Every object of this test that is not in the index has one file, and so has every upload still under way. */
async function countReferred(client: S3Client): Promise<number> {
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
  const filed = Contents.filter(({ Size = 0, ETag }) => Size > maxPackedBytes || ETag?.endsWith('-1"'));
  return filed.length + Uploads.length;
}

/**
 * Runs an operation again and again, each time with a later call killed, until none is left to kill. Returns how
 * many there were.
 */
async function killAll(
  dataDir: string,
  call: string,
  { before = filed('before'), wanted, prepare }: Operation,
): Promise<number> {
  // With one thread for all disk work, its order is fixed.
  const start = () => startProcess(dataDir, { limit: 'export UV_THREADPOOL_SIZE=1' });
  let running = await start();
  for (let time = 1; time < mostOfAKind; time += 1) {
    const client = newClient(running.endpoint);
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: 'source', Body: filed('source') }));
    await client.send(new PutObjectCommand({ ...name, Body: before }));
    const operate = await prepare(client);
    await until(async () => listFiles(dataDir).length === (await countReferred(client)));

    const exited = once(running.process, 'exit');
    const { ended } = await killAt(running, call, time);
    const answered = await operate().then(
      () => true,
      () => false,
    );
    if (answered) running.process.kill('SIGKILL');
    await exited;
    await ended;
    client.destroy();

    running = await start();
    const after = newClient(running.endpoint);
    const at = `${call} ${time}`;
    expect(answered ? [wanted] : [before, wanted], at).toContain(await read(after));
    expect(listFiles(dataDir), at).toHaveLength(await countReferred(after));
    after.destroy();
    if (answered) {
      await running.end('SIGKILL');
      return time - 1;
    }
  }
  throw new Error(`${call} has no end.`);
}

const tried = series({
  full: Object.keys(operations),
  ci: ['put', 'put of few bytes over few', 'complete', 'delete of few bytes'],
  short: ['put', 'complete', 'delete of few bytes'],
});

test.runIf(hasStrace).each(Object.entries(operations).filter(([name]) => tried.includes(name)))(
  'kill -9 at each system call by which a %s changes the disk: all of it or nothing, and nothing is left over',
  async (_name, operation) => {
    const dataDir = newFolder();
    onTestFinished(() => rmSync(dataDir, { recursive: true }));
    let killed = 0;
    for (const call of stages) killed += await killAll(dataDir, call, operation);
    // At least: the pages of the index, their sync, the page that makes them count, and its sync.
    expect(killed).toBeGreaterThanOrEqual(4);
  },
  600_000,
);
