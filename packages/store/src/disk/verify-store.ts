import type { Dirent } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Checksum } from './checksum.ts';
import { type Digests, openDigests } from './digest.ts';
import { Damaged, systemCode } from './disk-error.ts';
import { type Fixity, fixityOf, toValue } from './fixity.ts';
import type { IndexDb } from './index-db.ts';
import { openIndexDb } from './index-db.ts';
import type { ObjectRecord } from './index-record.ts';
import { type BrokenRecord, brokenRecord } from './index-table.ts';
import { joinChecksums, joinEtags } from './join-parts.ts';
import { isThere, journalPath } from './journal.ts';
import { readJournal, readJournalHead } from './journal-file.ts';
import { entryBytes, type Packed } from './pack-entry.ts';
import { isPackName, openPackReader } from './packs.ts';
import { NoStoreFolder, namesIn, requireIndexFile } from './require-index.ts';
import { lockStoreFolder } from './store.ts';
import type { ListedPart } from './upload-index.ts';

/**
 * - `rotten`: the bytes are not those that were stored
 * - `missing`: a file is not there
 * - `stray`: a file that nothing refers to, and that no start will clear away
 * - `index`: a record of the index is broken, or the index contradicts itself
 * - `journal`: the index could not be rebuilt from its journal
 */
export type ProblemKind = 'rotten' | 'missing' | 'stray' | 'index' | 'journal';

export interface Problem {
  kind: ProblemKind;
  /** What it is about: bucket/key, unescaped, or the path of a file in the data folder */
  subject: string;
  sentence: string;
}

export interface Verified {
  objects: number;
  /** of objects and of uploads under way */
  parts: number;
  /** read and digested */
  bytes: number;
  /** files that the next start clears away or sets aside, which is not a problem */
  leftovers: number;
  /** files in set-aside/, which is not a problem either */
  setAside: number;
  problems: number;
}

export interface VerifyHandlers {
  onProblem(problem: Problem): void;
  /** Called after every MiB, and after every object. */
  onProgress?(sofar: Readonly<Verified>): void;
}

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

/**
 * Reads every object and part of the store in `dataDir` again, checks its size and MD5, and looks for files that are
 * missing or that nothing refers to. Changes nothing. Memory use does not grow with what is stored.
 *
 * The folder is locked meanwhile: in a running store, where objects are replaced and removed all the time, a missing
 * file could not be told from one that was just removed, and a read that takes hours would keep the index from reusing
 * its pages.
 *
 * @throws StoreFolderInUse, StoreFolderUnwritable, NoStoreFolder, IndexUnusable
 */
export async function verifyStore(dataDir: string, handlers: VerifyHandlers): Promise<Verified> {
  const folder = resolve(dataDir);
  if (!(await isThere(folder))) throw noStore(folder);
  const lock = lockStoreFolder(folder);
  try {
    if (!(await requireIndexFile(folder, { thorough: true }))) throw noStore(folder);
    const broken = openBroken();
    const index = await openIndexDb(join(folder, 'index'), { onBroken: broken.onBroken, unchanged: true });
    try {
      return await verifyAll(folder, index, broken, handlers);
    } finally {
      await index.close();
    }
  } finally {
    lock.release();
  }
}

/** Without this a mistyped folder would become an empty store, in which nothing is wrong. */
function noStore(folder: string): NoStoreFolder {
  return new NoStoreFolder(`There is no store in ${folder}.`);
}

interface BrokenRecords {
  onBroken(record: BrokenRecord): void;
  /** Those met since the last call, each reported only once. */
  take(): BrokenRecord[];
  count(): number;
}

function openBroken(): BrokenRecords {
  const known = new Set<string>();
  let met: BrokenRecord[] = [];
  return {
    onBroken: (record) => {
      const name = `${record.table} ${record.key}`;
      if (!known.has(name)) met.push(record);
      known.add(name);
    },
    take: () => {
      const taken = met;
      met = [];
      return taken;
    },
    count: () => known.size,
  };
}

/** What a broken record belongs to, named as other problems name it. */
function subjectOf({ table, key }: BrokenRecord): string {
  const [bucket = '', name = '', uploadId = ''] = key.split('\0');
  if (table === 'objects') return `${bucket}/${name}`;
  if (table === 'uploads') return `${bucket}/${name}, upload ${uploadId}`;
  if (table !== 'parts') return key;
  const [partsOf = '', number = ''] = key.split('/');
  return `upload ${partsOf}, part ${Number(number)}`;
}

async function verifyAll(
  folder: string,
  index: IndexDb,
  broken: BrokenRecords,
  { onProblem, onProgress }: VerifyHandlers,
): Promise<Verified> {
  const sofar: Verified = { objects: 0, parts: 0, bytes: 0, leftovers: 0, setAside: 0, problems: 0 };
  const buffer = Buffer.allocUnsafe(bufferBytes);
  const reader = openPackReader([join(folder, 'packs'), join(folder, 'set-aside')]);
  const liveBytes = new Map<string, number>();
  let referred = 0;
  let inline = 0;

  function report(kind: ProblemKind, subject: string, sentence: string): void {
    sofar.problems += 1;
    onProblem({ kind, subject, sentence });
  }

  function reportBroken(): void {
    for (const record of broken.take()) {
      const advice = 'delete or replace the object, or rebuild the index with verify --rebuild';
      report('index', subjectOf(record), `its record cannot be read: ${advice}`);
    }
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
    referred += 1;
    const { blob } = expected;
    if (!index.hasBlob(blob)) report('index', subject, `the list of blobs in use lacks ${blob}`);
    const found = await digestBlob(folder, expected, buffer, (bytes) => {
      sofar.bytes += bytes;
      onProgress?.(sofar);
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
    inline += 1;
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
    liveBytes.set(pack, (liveBytes.get(pack) ?? 0) + entryBytes(name, record.size));
    const holder = `packs/${pack} at byte ${at}`;
    try {
      await verifyBytes(subject, holder, record, await reader.read(name, packed, record.size));
    } catch (error) {
      if (error instanceof Damaged) report('rotten', subject, `${holder} is not what was stored`);
      else if (systemCode(error) === 'ENOENT') report('missing', subject, `there is no file packs/${pack}`);
      else report('rotten', subject, `${holder} cannot be read (${systemCode(error) ?? String(error)})`);
    }
  }

  /** Packs that have nothing in use any more are removed by the next start. */
  function verifyPacks(): void {
    const listed = index.packs();
    for (const pack of liveBytes.keys()) {
      if (!listed.has(pack)) report('index', `packs/${pack}`, 'the list of packs lacks it');
    }
    if (broken.count() > 0) return;
    for (const [pack, record] of listed) {
      const live = liveBytes.get(pack) ?? 0;
      if (record === brokenRecord || record.liveBytes === live) continue;
      report('index', `packs/${pack}`, `${record.liveBytes} bytes are listed as in use, but objects refer to ${live}`);
    }
  }

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
      onProgress?.(sofar);
    }
    for (const { key, uploadId } of index.uploads.listFrom(bucket, Buffer.alloc(0))) {
      await verifyParts(`${bucket}/${key}, upload ${uploadId}`, index.uploads.soundPartsFrom(uploadId, 1));
    }
    reportBroken();
  }

  /** A file that no object refers to is fine if the next start clears it away. */
  function judgeFile(path: string, isSwept: boolean): void {
    if (isSwept) sofar.leftovers += 1;
    else report('stray', path, 'nothing refers to this file, and no start will clear it away');
  }

  async function findStrays(): Promise<void> {
    const openGeneration = index.readOpenGeneration();
    const elsewhere = 'it does not belong here, and no start will clear it away';
    for (const entry of await entriesIn(join(folder, 'incoming'))) {
      if (entry.isFile()) judgeFile(join('incoming', entry.name), true);
      else report('stray', join('incoming', entry.name), elsewhere);
    }
    for (const generation of await entriesIn(join(folder, 'blobs'))) {
      const path = join('blobs', generation.name);
      const isGeneration = /^[0-9a-f]{8}$/.test(generation.name);
      if (!generation.isDirectory()) report('stray', path, elsewhere);
      const isOpen = isGeneration && Number.parseInt(generation.name, 16) >= openGeneration;
      for (const blob of await entriesIn(join(folder, path))) {
        const isInPlace = blob.name.startsWith(`${generation.name}-`);
        if (isInPlace && index.hasBlob(blob.name)) continue;
        const isSwept = isOpen || (isInPlace && index.isDoomed(blob.name));
        if (blob.isFile()) judgeFile(join(path, blob.name), isSwept);
        else report('stray', join(path, blob.name), elsewhere);
      }
    }
    const packs = index.packs();
    for (const entry of await entriesIn(join(folder, 'packs'))) {
      const path = join('packs', entry.name);
      if (!entry.isFile() || !isPackName(entry.name)) report('stray', path, elsewhere);
      else if (!packs.has(entry.name)) judgeFile(path, true);
    }
    sofar.setAside = (await namesIn(join(folder, 'set-aside'))).length;
  }

  /** A journal that lacks the last changes is replaced by the next start. */
  async function verifyJournal(): Promise<void> {
    const path = journalPath(folder);
    const { history, sequence } = index.tables.position();
    if (!(await isThere(path))) return;
    const head = await readJournalHead(path);
    if (head?.history !== history)
      return report('journal', 'journal', 'it cannot be read, or belongs to another index');
    let damaged: number | undefined;
    let last = head?.sequence ?? 0;
    const advice = 'move it away, and the next start writes a new one';
    for await (const { line, entry } of readJournal(path)) {
      if (damaged !== undefined) report('journal', 'journal', `line ${damaged} is damaged: ${advice}`);
      damaged = entry ? undefined : line;
      last = entry?.sequence ?? last;
    }
    if (last <= sequence) return;
    const older = `it ends with change ${sequence}, and its journal with change ${last}`;
    report('index', 'index', `it is older than its journal: ${older}; rebuild it with verify --rebuild`);
  }

  for (const { name } of index.buckets()) await verifyBucket(name);
  for (const uploadId of index.uploads.doomedUploads()) {
    for (const _ of index.uploads.soundPartsFrom(uploadId, 1)) {
      referred += 1;
      sofar.leftovers += 1;
    }
  }
  reportBroken();
  await findStrays();
  verifyPacks();
  reportBroken();
  await reader.close();
  await verifyJournal();
  // Nobody knows what broken records refer to.
  if (broken.count() > 0) return sofar;
  const listed = index.countBlobs();
  if (listed !== referred) {
    report('index', 'index', `${listed} blobs are listed as in use, but objects and parts refer to ${referred}`);
  }
  const held = index.countInline();
  if (held !== inline) {
    report('index', 'index', `it has the bytes of ${held} objects, but should have those of ${inline}`);
  }
  return sofar;
}

/** All that is known of the bytes: their checksum, too, if their ETag is their MD5. */
function fixitiesOf(expected: ExpectedBytes): Fixity[] {
  const { checksum } = expected;
  return [fixityOf(expected), ...(checksum ? [{ name: checksum.algorithm, value: checksum.value }] : [])];
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

async function entriesIn(path: string): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return [];
    throw error;
  }
}
