import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checksum } from './checksum.ts';
import { type Digests, openDigests } from './digest.ts';
import { Damaged, systemCode } from './disk-error.ts';
import { type Fixity, fixityOf, fixityOfChecksum, toValue } from './fixity.ts';
import type { ObjectRecord } from './index-record.ts';
import { joinChecksums, joinEtags } from './join-parts.ts';
import { isThere } from './journal.ts';
import { entryBytes, type Packed } from './pack-entry.ts';
import { openPackReader } from './packs.ts';
import type { ListedPart } from './upload-index.ts';
import type { Verification } from './verification.ts';

/** The expected bytes. */
interface ExpectedBytes {
  size: number;
  etag: string;
  checksum?: Checksum;
}

interface ExpectedBlob extends ExpectedBytes {
  blob: string;
}

/** What was found. */
interface DigestedBytes {
  size: number;
  /** Those that are expected, and maybe others. */
  digests: Digests;
}

const bufferBytes = 1024 * 1024;

/** What the objects, and the uploads under way, refer to. */
export interface Referred {
  /** How many blobs. */
  blobs: number;
  /** How many objects whose bytes the index holds. */
  inline: number;
  /** The bytes in use of each pack. */
  packs: Map<string, number>;
}

/** Reads every object, and every part of an upload, and checks its bytes. */
export async function verifyObjects(verification: Verification): Promise<Referred> {
  const { folder, index, sofar, report, reportBroken, onProgress } = verification;
  const buffer = Buffer.allocUnsafe(bufferBytes);
  const reader = openPackReader([join(folder, 'packs'), join(folder, 'set-aside')]);
  const referred: Referred = { blobs: 0, inline: 0, packs: new Map() };

  for (const { name } of index.buckets()) await verifyBucket(name);
  for (const uploadId of index.uploads.doomedUploads()) {
    for (const _ of index.uploads.soundPartsFrom(uploadId, 1)) {
      referred.blobs += 1;
      sofar.leftovers += 1;
    }
  }
  reportBroken();
  await reader.close();
  return referred;

  async function verifyObject(bucket: string, key: string, record: ObjectRecord): Promise<void> {
    const subject = `${bucket}/${key}`;
    sofar.objects += 1;
    const { blob, multipart, size, etag, checksum } = record;
    if (record.packed) return verifyPacked(subject, index.nameOf(bucket, key), record, record.packed);
    if (record.inline) return verifyInline(subject, record, index.readInline(bucket, key));
    if (blob !== undefined) return verifyBlob(subject, { blob, size, etag, ...(checksum && { checksum }) });
    const uploadId = multipart?.uploadId ?? '';
    const wrong = findAssemblyMistake(record, [...index.uploads.soundPartsFrom(uploadId, 1)]);
    reportBroken();
    if (wrong !== undefined) report('index', subject, wrong);
    await verifyParts(subject, index.uploads.soundPartsFrom(uploadId, 1));
  }

  async function verifyBucket(bucket: string): Promise<void> {
    for (const { key, record } of index.objectsFrom(bucket, Buffer.alloc(0))) {
      reportBroken();
      await verifyObject(bucket, key.toString(), record);
      onProgress();
    }
    for (const { key, uploadId } of index.uploads.listFrom(bucket, Buffer.alloc(0))) {
      await verifyParts(`${bucket}/${key}, upload ${uploadId}`, index.uploads.soundPartsFrom(uploadId, 1));
    }
    reportBroken();
  }

  function reportRotten(subject: string, holder: string, expected: ExpectedBytes, found: DigestedBytes): void {
    if (found.size !== expected.size) {
      report('rotten', subject, `${holder} has ${found.size} bytes, ${expected.size} were stored`);
      return;
    }
    for (const { name, value } of fixitiesOf(expected)) {
      const digest = found.digests.get(name);
      const actual = digest && toValue(name, digest);
      if (actual === value) continue;
      report('rotten', subject, `${holder} has the ${name} ${actual}, ${value} was stored`);
      return;
    }
  }

  async function verifyBlob(subject: string, expected: ExpectedBlob): Promise<void> {
    referred.blobs += 1;
    const { blob } = expected;
    if (!index.blobs.has(blob)) report('index', subject, `the list of blobs in use lacks ${blob}`);
    const found = await digestBlob(folder, expected, buffer, (bytes) => {
      sofar.bytes += bytes;
      onProgress();
    });
    if ('unreadable' in found) {
      const { unreadable } = found;
      if (unreadable !== 'ENOENT') report('rotten', subject, `${blobPath(blob)} cannot be read (${unreadable})`);
      else if (await isThere(join(folder, 'set-aside', blob))) sofar.leftovers += 1;
      else report('missing', subject, `there is no file ${blobPath(blob)}`);
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

  async function verifyInline(subject: string, record: ObjectRecord, bytes: Buffer | undefined): Promise<void> {
    referred.inline += 1;
    if (!bytes) {
      report('missing', subject, 'the index lacks its bytes');
      return;
    }
    await verifyBytes(subject, 'what the index holds of it', record, bytes);
  }

  async function verifyBytes(subject: string, holder: string, record: ObjectRecord, bytes: Buffer): Promise<void> {
    sofar.bytes += bytes.length;
    const { size, etag, checksum } = record;
    const expected = { size, etag, ...(checksum && { checksum }) };
    const running = openDigests(fixitiesOf(expected).map(({ name }) => name));
    void running.update(bytes);
    reportRotten(subject, holder, expected, { size: bytes.length, digests: await running.finish() });
  }

  async function verifyPacked(subject: string, name: Buffer, record: ObjectRecord, packed: Packed): Promise<void> {
    const { pack, at } = packed;
    referred.packs.set(pack, (referred.packs.get(pack) ?? 0) + entryBytes(name, record.size));
    const holder = `packs/${pack} at byte ${at}`;
    try {
      await verifyBytes(subject, holder, record, await reader.read(name, packed, record.size));
    } catch (error) {
      if (error instanceof Damaged) report('rotten', subject, `${holder} is not what was stored`);
      else if (systemCode(error) === 'ENOENT') report('missing', subject, `there is no file packs/${pack}`);
      else report('rotten', subject, `${holder} cannot be read (${systemCode(error) ?? String(error)})`);
    }
  }
}

/** All that is known of the bytes: their checksum, too, if their ETag is their MD5. */
function fixitiesOf(expected: ExpectedBytes): Fixity[] {
  const { checksum } = expected;
  return [fixityOf(expected), ...(checksum ? [fixityOfChecksum(checksum)] : [])];
}

/** What is wrong with how an object is made of its parts, if anything. */
function findAssemblyMistake(record: ObjectRecord, parts: readonly ListedPart[]): string | undefined {
  const size = parts.reduce((sum, part) => sum + part.size, 0);
  const { multipart, checksum } = record;
  if (multipart?.parts !== parts.length)
    return `it is made of ${multipart?.parts ?? 0} parts, but ${parts.length} exist`;
  if (record.size !== size) return `it has ${record.size} bytes, but its parts have ${size}`;
  const etag = joinEtags(parts);
  if (record.etag !== etag) return `its ETag is ${record.etag}, but that of its parts is ${etag}`;
  const joined = checksum && joinChecksums(checksum, parts)?.value;
  return joined === checksum?.value
    ? undefined
    : `its checksum is ${checksum?.value}, but that of its parts is ${joined}`;
}

/** Digests a blob, reading it through the given buffer. */
async function digestBlob(
  folder: string,
  expected: ExpectedBlob,
  buffer: Buffer,
  onBytes: (count: number) => void,
): Promise<DigestedBytes | { unreadable: string }> {
  try {
    const file = await open(join(folder, blobPath(expected.blob)));
    try {
      const running = openDigests(fixitiesOf(expected).map(({ name }) => name));
      let size = 0;
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, buffer.length, size);
        if (bytesRead === 0) return { size, digests: await running.finish() };
        void running.update(buffer.subarray(0, bytesRead));
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

function blobPath(blob: string): string {
  return join('blobs', blob.slice(0, 8), blob);
}
