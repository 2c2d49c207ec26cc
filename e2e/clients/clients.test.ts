import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { type RunningStore, startStoreThread } from '@cadiz/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { series } from '../../scripts/series.mjs';

const run = fileURLToPath(new URL('./run.sh', import.meta.url));
const NONE_INSTALLED = 3;
const keys = { accessKeyId: 'AKIACLIENTS', secretAccessKey: 'a-secret/of+the=clients' };
const md5 = (bytes: Uint8Array | string) => createHash('md5').update(bytes).digest('hex');

let dataDir: string;
let store: RunningStore;
let endpoint: string;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'cadiz-clients-'));
  store = await startStoreThread({ dataDir, host: '127.0.0.1', port: 0, ...keys });
  endpoint = `http://127.0.0.1:${store.port}`;
});
afterAll(async () => {
  await store.close({ drainMilliseconds: 100 });
  await rm(dataDir, { recursive: true });
});

function runClient(client: string): Promise<{ code: number | null; output: string }> {
  const env = { ...process.env, AWS_ACCESS_KEY_ID: keys.accessKeyId, AWS_SECRET_ACCESS_KEY: keys.secretAccessKey };
  const child = spawn('bash', [run, endpoint, client], { env: { ...env, AWS_REGION: 'us-east-1' } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}

// The CLI takes a second to start for each of its commands, and uses the same library as boto3.
const clients = series({ full: ['awscli', 'rclone', 's3cmd', 'boto3'], short: ['rclone', 's3cmd', 'boto3'] });
for (const client of clients) {
  test(`${client} gets back what it stored`, async ({ skip }) => {
    const { code, output } = await runClient(client);
    if (code === NONE_INSTALLED) {
      console.warn(`LEFT OUT: ${client} is not installed.`);
      skip(`${client} is not installed`);
    }
    expect(code, output).toBe(0);
  });
}

test('the AWS SDK gets back what it stored, with its default settings', async () => {
  const Bucket = 'aws-sdk';
  const client = new S3Client({ endpoint, region: 'us-east-1', credentials: keys, forcePathStyle: true });
  const read = async (Key: string) => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
    return md5((await Body?.transformToByteArray()) ?? '');
  };
  const [small, first, last] = [randomBytes(4000), randomBytes(6_000_000), randomBytes(100_000)];
  await client.send(new CreateBucketCommand({ Bucket }));

  const stored = await client.send(
    new PutObjectCommand({ Bucket, Key: 'Ä ö+&=~%20', Body: small, Metadata: { colour: 'blue' } }),
  );
  expect(stored.ETag).toBe(`"${md5(small)}"`);
  expect(await read('Ä ö+&=~%20')).toBe(md5(small));
  expect(await client.send(new HeadObjectCommand({ Bucket, Key: 'Ä ö+&=~%20' }))).toMatchObject({
    ContentLength: 4000,
    Metadata: { colour: 'blue' },
  });
  // The SDK sends a stream in chunks, followed by its checksum.
  const Body = Readable.from([first, last]);
  await client.send(new PutObjectCommand({ Bucket, Key: 'stream', Body, ContentLength: 6_100_000 }));
  expect(await read('stream')).toBe(md5(Buffer.concat([first, last])));

  const upload = { Bucket, Key: 'parts' };
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(upload));
  const Parts = [];
  for (const [at, part] of [first, last].entries()) {
    const PartNumber = at + 1;
    const sent = await client.send(new UploadPartCommand({ ...upload, UploadId, PartNumber, Body: part }));
    const { ETag, ChecksumCRC32 } = sent;
    Parts.push({ PartNumber, ETag, ChecksumCRC32 });
  }
  await client.send(new CompleteMultipartUploadCommand({ ...upload, UploadId, MultipartUpload: { Parts } }));
  expect(await read('parts')).toBe(md5(Buffer.concat([first, last])));

  const signedPut = await getSignedUrl(client, new PutObjectCommand({ Bucket, Key: 'presigned' }), { expiresIn: 60 });
  expect((await fetch(signedPut, { method: 'PUT', body: new Uint8Array(small) })).status).toBe(200);
  const signedGet = await getSignedUrl(client, new GetObjectCommand({ Bucket, Key: 'presigned' }), { expiresIn: 60 });
  expect(md5(new Uint8Array(await (await fetch(signedGet)).arrayBuffer()))).toBe(md5(small));

  const listed: string[] = [];
  for await (const { Contents = [] } of paginateListObjectsV2({ client, pageSize: 2 }, { Bucket })) {
    listed.push(...Contents.map(({ Key = '' }) => Key));
  }
  expect(listed).toEqual(['parts', 'presigned', 'stream', 'Ä ö+&=~%20']);
  await client.send(new DeleteObjectCommand({ Bucket, Key: 'presigned' }));
  await expect(read('presigned')).rejects.toMatchObject({ name: 'NoSuchKey' });
  const Objects = ['parts', 'stream', 'Ä ö+&=~%20'].map((Key) => ({ Key }));
  expect((await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))).Errors).toBeUndefined();
  await client.send(new DeleteBucketCommand({ Bucket }));
  client.destroy();
});
