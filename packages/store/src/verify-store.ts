import { createHash } from 'node:crypto';
import { access, open, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Checksum, checksumOf, type ObjectChecksum, openDigest } from './checksum.ts';
import type { IndexDb, ObjectRecord } from './index-db.ts';
import { openIndexDb } from './index-db.ts';
import { lockFolder } from './lock.ts';
import { joinChecksums } from './multipart-checksum.ts';
import { systemCode } from './s3-error.ts';
import type { ListedPart } from './upload-index.ts';

/**
 * - `rotten`: the bytes are not those that were stored
 * - `missing`: a file is not there
 * - `stray`: a file that nothing refers to, and that no start will sweep
 * - `index`: the index contradicts itself
 */
export type ProblemKind = 'rotten' | 'missing' | 'stray' | 'index';

export interface Problem {
  kind: ProblemKind;
  /** What it is about: bucket/key, as it is, or the path of a file below the data folder */
  subject: string;
  sentence: string;
}

export interface Verified {
  objects: number;
  /** of objects and of uploads under way */
  parts: number;
  /** read and digested */
  bytes: number;
  /** files that the next start sweeps, which is nothing wrong */
  leftovers: number;
  problems: number;
}

export interface VerifyHandlers {
  onProblem(problem: Problem): void;
  /** Called after every MiB, and after every object. */
  onProgress?(sofar: Readonly<Verified>): void;
}

/** There is no store in the folder. */
export class NoStoreFolder extends Error {}

/** What is expected of some bytes; `etag` is their hex MD5. */
interface ExpectedBytes {
  size: number;
  etag: string;
  checksum?: Checksum;
}

interface ExpectedBlob extends ExpectedBytes {
  blob: string;
}

/** What was found instead. `checksum` is in base64, and there where one is expected. */
interface DigestedBytes {
  size: number;
  md5: string;
  checksum: string | undefined;
}

const BUFFER_BYTES = 1024 * 1024;

/**
 * Reads every object and part of the store in `dataDir` again, holds it to its size and MD5, and looks for files that are
 * missing or that nothing refers to. Changes nothing. Memory does not grow with what is stored.
 *
 * The folder is locked meanwhile: beside a running store, whose objects are replaced and removed all the time, a missing
 * file could not be told from one that has just gone, and a read of hours would keep the index from reusing its pages.
 *
 * @throws StoreFolderInUse, NoStoreFolder
 */
export async function verifyStore(dataDir: string, handlers: VerifyHandlers): Promise<Verified> {
  const folder = resolve(dataDir);
  await requireStore(folder);
  const lock = lockFolder(folder);
  try {
    const index = await openIndexDb(join(folder, 'index'));
    try {
      return await verifyAll(folder, index, handlers);
    } finally {
      await index.close();
    }
  } finally {
    lock.release();
  }
}

/** Without this a mistyped name would make an empty store, and find nothing wrong with it. */
async function requireStore(folder: string): Promise<void> {
  try {
    await access(join(folder, 'index', 'data.mdb'));
  } catch {
    throw new NoStoreFolder(`There is no store in ${folder}.`);
  }
}

async function verifyAll(folder: string, index: IndexDb, { onProblem, onProgress }: VerifyHandlers): Promise<Verified> {
  const sofar: Verified = { objects: 0, parts: 0, bytes: 0, leftovers: 0, problems: 0 };
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  let referred = 0;
  let inline = 0;

  function report(kind: ProblemKind, subject: string, sentence: string): void {
    sofar.problems += 1;
    onProblem({ kind, subject, sentence });
  }

  function reportRotten(subject: string, holder: string, expected: ExpectedBytes, found: DigestedBytes): void {
    const { size, etag, checksum } = expected;
    if (found.size !== size) {
      report('rotten', subject, `${holder} has ${found.size} bytes, ${size} were stored`);
    } else if (found.md5 !== etag) {
      report('rotten', subject, `${holder} has the MD5 ${found.md5}, ${etag} was stored`);
    } else if (found.checksum !== checksum?.value) {
      const stored = `${checksum?.value} was stored`;
      report('rotten', subject, `${holder} has the ${checksum?.algorithm} ${found.checksum}, ${stored}`);
    }
  }

  async function verifyBlob(subject: string, expected: ExpectedBlob): Promise<void> {
    referred += 1;
    const { blob } = expected;
    if (!index.hasBlob(blob)) report('index', subject, `the list of blobs in use lacks ${blob}`);
    const found = await digestBlob(folder, expected, buffer, (bytes) => {
      sofar.bytes += bytes;
      onProgress?.(sofar);
    });
    if ('unreadable' in found) {
      const { unreadable } = found;
      if (unreadable === 'ENOENT') report('missing', subject, `there is no file ${blobPath(blob)}`);
      else report('rotten', subject, `${blobPath(blob)} cannot be read (${unreadable})`);
    } else {
      reportRotten(subject, blobPath(blob), expected, found);
    }
  }

  async function verifyParts(subject: string, parts: Iterable<ListedPart>): Promise<void> {
    for (const part of parts) {
      sofar.parts += 1;
      await verifyBlob(`${subject}, part ${part.partNumber}`, part);
    }
  }

  function verifyInline(subject: string, record: ObjectRecord, bytes: Buffer | undefined): void {
    inline += 1;
    if (!bytes) {
      report('missing', subject, 'the index lacks its bytes');
      return;
    }
    sofar.bytes += bytes.length;
    const { size, etag, checksum } = record;
    const found = {
      size: bytes.length,
      md5: md5Of(bytes),
      checksum: checksum && checksumOf(checksum.algorithm, bytes),
    };
    reportRotten(subject, 'what the index holds of it', { size, etag, ...(checksum && { checksum }) }, found);
  }

  async function verifyObject(bucket: string, key: string, record: ObjectRecord): Promise<void> {
    const subject = `${bucket}/${key}`;
    sofar.objects += 1;
    const { blob, multipart, size, etag, checksum } = record;
    if (record.inline) return verifyInline(subject, record, index.readInline(bucket, key));
    if (blob !== undefined) return verifyBlob(subject, { blob, size, etag, ...(checksum && { checksum }) });
    const uploadId = multipart?.uploadId ?? '';
    const wrong = findAssemblyMistake(record, [...index.uploads.partsFrom(uploadId, 1)]);
    if (wrong !== undefined) report('index', subject, wrong);
    await verifyParts(subject, index.uploads.partsFrom(uploadId, 1));
  }

  async function verifyBucket(bucket: string): Promise<void> {
    for (const { key, record } of index.objectsFrom(bucket, Buffer.alloc(0))) {
      await verifyObject(bucket, key.toString(), record);
      onProgress?.(sofar);
    }
    for (const { key, uploadId } of index.uploads.listFrom(bucket, Buffer.alloc(0))) {
      await verifyParts(`${bucket}/${key}, upload ${uploadId}`, index.uploads.partsFrom(uploadId, 1));
    }
  }

  /** A file that no object refers to is in order where the next start sweeps it. */
  function judgeFile(path: string, isSwept: boolean): void {
    if (isSwept) sofar.leftovers += 1;
    else report('stray', path, 'nothing refers to this file, and no start will sweep it');
  }

  async function findStrays(): Promise<void> {
    const openGeneration = index.readOpenGeneration();
    for (const name of await namesIn(join(folder, 'incoming'))) judgeFile(join('incoming', name), true);
    for (const generation of await namesIn(join(folder, 'blobs'))) {
      const isOpen = /^[0-9a-f]{8}$/.test(generation) && Number.parseInt(generation, 16) >= openGeneration;
      for (const blob of await namesIn(join(folder, 'blobs', generation))) {
        const isInPlace = blob.startsWith(`${generation}-`);
        if (isInPlace && index.hasBlob(blob)) continue;
        judgeFile(join('blobs', generation, blob), isOpen || (isInPlace && index.isDoomed(blob)));
      }
    }
  }

  for (const { name } of index.buckets()) await verifyBucket(name);
  for (const uploadId of index.uploads.doomedUploads()) {
    for (const _ of index.uploads.partsFrom(uploadId, 1)) {
      referred += 1;
      sofar.leftovers += 1;
    }
  }
  await findStrays();
  const listed = index.countBlobs();
  if (listed !== referred) {
    report('index', 'index', `${listed} blobs are listed as in use, objects and parts refer to ${referred}`);
  }
  const held = index.countInline();
  if (held !== inline) {
    report('index', 'index', `it holds the bytes of ${held} objects, ${inline} have theirs there`);
  }
  return sofar;
}

/** What is wrong with how an object is made of its parts. */
function findAssemblyMistake(record: ObjectRecord, parts: readonly ListedPart[]): string | undefined {
  const size = parts.reduce((sum, part) => sum + part.size, 0);
  const { multipart, checksum } = record;
  if (multipart?.parts !== parts.length)
    return `it is made of ${multipart?.parts ?? 0} parts, ${parts.length} are there`;
  if (record.size !== size) return `it has ${record.size} bytes, its parts have ${size}`;
  const etag = etagOfParts(parts);
  if (record.etag !== etag) return `its ETag is ${record.etag}, that of its parts is ${etag}`;
  const joined = checksum && joinedChecksum(checksum, parts);
  return joined === checksum?.value ? undefined : `its checksum is ${checksum?.value}, that of its parts is ${joined}`;
}

/** As S3 does it: the MD5 of the parts' MD5s, and how many they are. */
function etagOfParts(parts: readonly ListedPart[]): string {
  const md5 = createHash('md5');
  for (const { etag } of parts) md5.update(etag, 'hex');
  return `${md5.digest('hex')}-${parts.length}`;
}

function joinedChecksum({ algorithm, type }: ObjectChecksum, parts: readonly ListedPart[]): string | undefined {
  try {
    return joinChecksums({ initiatedAt: 0, headers: {}, metadata: {}, checksum: { algorithm, type } }, parts)?.value;
  } catch {
    return undefined; // a part without one
  }
}

/** Reads a blob through the given buffer. */
async function digestBlob(
  folder: string,
  { blob, checksum: expected }: ExpectedBlob,
  buffer: Buffer,
  onBytes: (count: number) => void,
): Promise<DigestedBytes | { unreadable: string }> {
  try {
    const file = await open(join(folder, blobPath(blob)));
    try {
      const md5 = createHash('md5');
      const checksum = expected && openDigest(expected.algorithm);
      let size = 0;
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, buffer.length, size);
        if (bytesRead === 0) {
          return { size, md5: md5.digest('hex'), checksum: checksum?.digest().toString('base64') };
        }
        const read = buffer.subarray(0, bytesRead);
        md5.update(read);
        checksum?.update(read);
        size += bytesRead;
        onBytes(bytesRead);
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    return { unreadable: systemCode(error) ?? String(error) };
  }
}

function md5Of(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex');
}

function blobPath(blob: string): string {
  return join('blobs', blob.slice(0, 8), blob);
}

async function namesIn(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}
