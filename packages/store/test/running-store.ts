import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { createPresigner, createRequestSigner, uriEncodePath } from '@cadiz/sigv4';
import { onTestFinished } from 'vitest';
import { maxPackedBytes } from '../src/disk/take-in.ts';
import { openStore, type StoreOptions } from '../src/process/open-store.ts';

export const keys = { accessKeyId: 'AKIATEST', secretAccessKey: 'a-secret-of-the-tests' };
export const region = 'us-east-1';
export const bucket = 'photos';

type Presign = ReturnType<typeof createPresigner>;

export interface TestStore {
  folder: string;
  endpoint: string;
  port: number;
  client: S3Client;
  presignRaw: Presign;
  /** An address for the test bucket, by default signed now and valid for a minute. */
  presign(method: string, key: string, more?: Partial<Parameters<Presign>[0]>): string;
  /** Sends a request signed in its headers. */
  sendSigned(method: string, key: string, payloadHash: string, sent?: Sent, now?: number): Promise<Answer>;
  /** Every file under blobs/ and incoming/. */
  files(): string[];
  close(): Promise<void>;
}

/** A string that is too long for a pack: it gets a file. */
export const filed = (text: string) => text.padEnd(maxPackedBytes + 1, '.');

/** Both ways in which the bytes of an object are stored, and how many files each needs. */
export const keptEitherWay: { kept: string; form: (text: string) => string; files: 0 | 1 }[] = [
  { kept: 'in a pack', form: (text) => text, files: 0 },
  { kept: 'in a file', form: filed, files: 1 },
];

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'cadiz-store-'));
}

/** A folder that is removed when the test that asked for it has ended. */
export function folderOfTest(): string {
  const folder = newFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A store in a new folder (or the given one), with its bucket. */
export async function startStore(options: Partial<StoreOptions> = {}): Promise<TestStore> {
  const folder = options.dataDir ?? newFolder();
  const store = await openStore({ host: '127.0.0.1', port: 0, region, ...keys, ...options, dataDir: folder });
  const endpoint = `http://127.0.0.1:${store.port}`;
  const client = newClient(endpoint);
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  const sign = createRequestSigner({ ...keys, region });
  const presignRaw = createPresigner({ ...keys, region, endpoint });
  return {
    folder,
    endpoint,
    port: store.port,
    client,
    presignRaw,
    presign: (method, key, more) =>
      presignRaw({ method: method as 'GET', bucket, key, expiresInSeconds: 60, now: Date.now(), ...more }),
    sendSigned: (method, key, payloadHash, { headers = {}, body } = {}, now = Date.now()) => {
      const path = `/${bucket}/${key}`;
      const host = `127.0.0.1:${store.port}`;
      const signed = sign({ method, host, path, headers: headers as Record<string, string>, payloadHash, now });
      return send(
        method,
        `${endpoint}${uriEncodePath(path)}`,
        body === undefined ? { headers: signed } : { headers: signed, body },
      );
    },
    files: () => listFiles(folder),
    close: async () => {
      client.destroy();
      await store.close({ drainMilliseconds: 100 });
      if (!options.dataDir) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A store with objects with these keys; the content of each is its key. */
export async function startStoreWith(names: readonly string[]): Promise<TestStore> {
  const store = await startStore();
  await Promise.all(names.map((name) => send('PUT', store.presign('PUT', name), { body: name })));
  return store;
}

/** Creates a bucket with two objects, the first of which has a checksum; returns its name. */
export async function makeCheckedBucket({ client }: TestStore): Promise<string> {
  const Bucket = 'checked';
  await client.send(new CreateBucketCommand({ Bucket }));
  await client.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'hello', ChecksumAlgorithm: 'SHA256' }));
  await client.send(new PutObjectCommand({ Bucket, Key: 'b', Body: 'hello' }));
  return Bucket;
}

/** A digest of Node for an SDK (`checksumAlgorithms`), which brings only some of those of S3. */
export function toSdkChecksum(name: string) {
  return class {
    hash = createHash(name);
    update(chunk: Uint8Array): void {
      this.hash.update(chunk);
    }
    async digest(): Promise<Uint8Array> {
      return this.hash.digest();
    }
    reset(): void {
      this.hash = createHash(name);
    }
  };
}

/** With the default settings of an SDK: it protects what it sends with a CRC32. */
export function newDefaultClient(endpoint: string): S3Client {
  return new S3Client({ endpoint, region, credentials: keys, forcePathStyle: true });
}

export function newClient(endpoint: string): S3Client {
  return new S3Client({
    endpoint,
    region,
    credentials: keys,
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 1,
  });
}

export function listFiles(folder: string): string[] {
  const under = (name: string) =>
    readdirSync(join(folder, name), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `${name}/${entry.name}`);
  return [...under('incoming'), ...under('blobs')];
}

/** The file of a blob, wherever the store is. */
export const blobFile = /\/blobs\/\w+\/\w+-/;

/** How many files with such a path this process has open. */
export function countOpen(path: RegExp): number {
  const opened = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ''; // closed since
    }
  });
  return opened.filter((file) => path.test(file)).length;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  text: string;
  /** S3's error code, from the XML */
  code: string | undefined;
}

export interface Sent {
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
}

/** Sends exactly this, without a client library that could correct the address or the headers. */
export function send(method: string, url: string, { headers = {}, body }: Sent = {}): Promise<Answer> {
  const { origin, port, hostname } = new URL(url);
  const path = url.slice(origin.length) || '/';
  return new Promise((resolve, reject) => {
    const outgoing = request({ method, hostname, port, path, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => resolve(toAnswer(incoming.statusCode ?? 0, incoming.headers, Buffer.concat(chunks))));
      incoming.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function toAnswer(status: number, headers: IncomingHttpHeaders, body: Buffer): Answer {
  const text = body.toString();
  return { status, headers, body, text, code: /<Code>([^<]*)<\/Code>/.exec(text)?.[1] };
}

/** Sends raw bytes to the store and returns everything it answers until it closes the connection. */
export function sendBytes(port: number, bytes: string, { halfClose = false } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
    });
    socket.on('end', () => {
      socket.end();
      resolve(answer);
    });
    socket.on('error', reject);
    socket.write(bytes);
    if (halfClose) socket.end();
  });
}

/** Path and query of an address, as in a request line. */
export function targetOf(url: string): string {
  return url.slice(new URL(url).origin.length);
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 6000; attempt += 1) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('What was waited for did not come.');
}
