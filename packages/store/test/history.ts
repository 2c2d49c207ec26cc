import { createHash, randomBytes } from 'node:crypto';
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { partBytes } from './multipart.ts';
import { bucket } from './running-store.ts';

/** What each key may have: what was acknowledged last, or anything requested since. */
export type Allowed = Map<string, Set<string>>;

const absent = 'absent';
const keysOfAWriter = 13;

const digest = (body: Buffer | Uint8Array) => createHash('sha256').update(body).digest('hex');

/** A change to one key: what it will have, and how it gets there. */
interface Change {
  wanted: string;
  make(): Promise<unknown>;
}

function put(client: S3Client, key: string, bytes: number): Change {
  const Body = randomBytes(bytes);
  return { wanted: digest(Body), make: () => client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body })) };
}

function remove(client: S3Client, key: string, many: boolean): Change {
  const one = new DeleteObjectCommand({ Bucket: bucket, Key: key });
  const all = new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: [{ Key: key }] } });
  return { wanted: absent, make: () => (many ? client.send(all) : client.send(one)) };
}

function copy(client: S3Client, key: string, source: { key: string; digest: string }): Change {
  const CopySource = `${bucket}/${source.key}`;
  const make = () => client.send(new CopyObjectCommand({ Bucket: bucket, Key: key, CopySource }));
  return { wanted: source.digest, make };
}

function upload(client: S3Client, key: string, bodies: readonly Buffer[]): Change {
  const name = { Bucket: bucket, Key: key };
  const make = async () => {
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(name));
    const Parts = await Promise.all(
      bodies.map(async (Body, at) => {
        const PartNumber = at + 1;
        const { ETag } = await client.send(new UploadPartCommand({ ...name, UploadId, PartNumber, Body }));
        return { PartNumber, ETag };
      }),
    );
    await client.send(new CompleteMultipartUploadCommand({ ...name, UploadId, MultipartUpload: { Parts } }));
  };
  return { wanted: digest(Buffer.concat(bodies)), make };
}

/** Creates an object for the writers to copy. */
async function putSource(client: S3Client): Promise<{ key: string; digest: string }> {
  const Body = randomBytes(50_000);
  await client.send(new PutObjectCommand({ Bucket: bucket, Key: 'source', Body }));
  return { key: 'source', digest: digest(Body) };
}

/**
 * Puts, replaces, copies, uploads in parts and deletes, six at a time, until the store is gone. `onAcknowledged` is
 * called after each change that was answered.
 */
export async function writeUntilGone(client: S3Client, allowed: Allowed, onAcknowledged: () => void): Promise<void> {
  const source = await putSource(client);
  allowed.set(source.key, new Set([source.digest]));

  function nextChange(key: string, writer: number, step: number): Change {
    const kind = (step + writer) % 8;
    if (kind === 2) return copy(client, key, source);
    if (kind === 4) return upload(client, key, [randomBytes(20_000)]);
    if (kind === 5 && writer === 0) return upload(client, key, [randomBytes(partBytes), randomBytes(1000)]);
    if (kind >= 6) return remove(client, key, kind === 7);
    return put(client, key, kind === 0 ? 400_000 : 3_000);
  }

  async function write(writer: number): Promise<void> {
    for (let step = 0; ; step += 1) {
      const key = `${writer}/${step % keysOfAWriter}`;
      const { wanted, make } = nextChange(key, writer, step);
      const states = allowed.get(key) ?? new Set([absent]);
      allowed.set(key, states.add(wanted));
      try {
        await make();
      } catch {
        return;
      }
      allowed.set(key, new Set([wanted]));
      onAcknowledged();
    }
  }

  await Promise.all([0, 1, 2, 3, 4, 5].map(write));
}

/** What every key has now. An object that cannot be read whole is an error. */
export async function readStates(client: S3Client, keys: Iterable<string>): Promise<Map<string, string>> {
  const states = new Map<string, string>();
  for (const key of keys) states.set(key, await readState(client, key));
  return states;
}

async function readState(client: S3Client, key: string): Promise<string> {
  try {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
    return digest((await Body?.transformToByteArray()) ?? Buffer.alloc(0));
  } catch (error) {
    if (error instanceof NoSuchKey) return absent;
    throw error;
  }
}

/** The keys with something they must not have, and what that is. */
export function findBroken(allowed: Allowed, found: ReadonlyMap<string, string>): string[] {
  return [...found]
    .filter(([key, state]) => !allowed.get(key)?.has(state))
    .map(([key, state]) => `${key} is ${state}, may be ${[...(allowed.get(key) ?? [])].join(' or ')}`);
}

/** From here on, what was found counts as acknowledged. */
export function settle(allowed: Allowed, found: ReadonlyMap<string, string>): void {
  for (const [key, state] of found) allowed.set(key, new Set([state]));
}
