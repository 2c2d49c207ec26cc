import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { writeFully } from './blobs.ts';
import type { Change } from './index-table.ts';

/** The first line of a journal: which index it belongs to, and from which state on it has every change. */
export interface JournalHead {
  /** The format: 1 has no objects in packs. */
  journal: 1 | 2;
  history: string;
  sequence: number;
}

/** What one transaction changed or, under the sequence of the one before it, what already existed. */
export interface JournalEntry {
  sequence: number;
  changes: readonly Change[];
}

/** The end of a journal: the sequence of its last complete line, and its length in bytes up to there. */
export interface JournalEnd {
  sequence: number;
  bytes: number;
}

/** A journal open for writing. Neither `append` nor `flush` rejects: a failure is reported to `onFailure`, once. */
export interface JournalFile {
  append(content: JournalHead | JournalEntry): Promise<void>;
  /** Makes everything appended so far durable. */
  flush(): Promise<void>;
  bytes(): number;
  hasFailed(): boolean;
  close(): Promise<void>;
}

const newLine = 0x0a;
const checksumDigits = 8;
const firstWindowBytes = 64 * 1024;

/** One line: a CRC-32 in eight hexadecimal digits, a space, and JSON, which never contains a line break. */
function toLine(content: JournalHead | JournalEntry): Buffer {
  const json = Buffer.from(JSON.stringify(content));
  return Buffer.concat([Buffer.from(`${toHex(crc32(json))} `), json, Buffer.from('\n')]);
}

function toHex(checksum: number): string {
  return checksum.toString(16).padStart(checksumDigits, '0');
}

/** Undefined if the checksum does not match. */
function parseLine<T extends JournalHead | JournalEntry>(line: Buffer): T | undefined {
  const json = line.subarray(checksumDigits + 1);
  if (line.toString('latin1', 0, checksumDigits) !== toHex(crc32(json))) return undefined;
  return JSON.parse(json.toString());
}

/** Starts a file. Append the head first. */
export async function createJournal(path: string, onFailure: (error: unknown) => void): Promise<JournalFile> {
  return writeOn(await open(path, 'w', 0o600), 0, onFailure);
}

/** Continues a journal after its last complete line. */
export async function continueJournal(
  path: string,
  { bytes }: JournalEnd,
  onFailure: (error: unknown) => void,
): Promise<JournalFile> {
  const file = await open(path, 'r+');
  try {
    await file.truncate(bytes);
  } catch (error) {
    await file.close();
    throw error;
  }
  return writeOn(file, bytes, onFailure);
}

function writeOn(file: FileHandle, from: number, onFailure: (error: unknown) => void): JournalFile {
  let bytes = from;
  let written = Promise.resolve();
  let synced = Promise.resolve();
  let dirty = true;
  let failed = false;

  function fail(error: unknown): void {
    if (failed) return;
    failed = true;
    onFailure(error);
  }

  async function attempt(work: () => Promise<unknown>): Promise<void> {
    if (failed) return;
    try {
      await work();
    } catch (error) {
      fail(error);
    }
  }

  /** Within `attempt`: a string cannot hold a line of more than half a gigabyte. */
  async function write(content: JournalHead | JournalEntry): Promise<void> {
    const line = toLine(content);
    const position = bytes;
    bytes += line.length;
    await writeFully(file, [line], position);
  }

  return {
    append: (content) => {
      dirty = true;
      written = written.then(() => attempt(() => write(content)));
      return written;
    },
    flush: async () => {
      // Before any wait: what is appended meanwhile is not part of this sync.
      if (dirty) synced = Promise.all([written, synced]).then(() => attempt(() => file.datasync()));
      dirty = false;
      await synced;
    },
    bytes: () => bytes,
    hasFailed: () => failed,
    close: async () => {
      await Promise.all([written, synced]);
      // Also if it has failed: a handle must not be collected while it is open.
      await file.close().catch(fail);
    },
  };
}

/** Reads the first line. Undefined if there is no complete one. */
export async function readJournalHead(path: string): Promise<JournalHead | undefined> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(firstWindowBytes), 0, firstWindowBytes, 0);
    const end = buffer.subarray(0, bytesRead).indexOf(newLine);
    const head = end < 0 ? undefined : parseLine<JournalHead>(buffer.subarray(0, end));
    return head?.journal === 1 || head?.journal === 2 ? head : undefined;
  } finally {
    await file.close();
  }
}

/** Finds the last complete line, searching from the end. Undefined if there is none. */
export async function readJournalEnd(path: string): Promise<JournalEnd | undefined> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    for (let windowBytes = firstWindowBytes; ; windowBytes *= 4) {
      const from = Math.max(0, size - windowBytes);
      const window = Buffer.alloc(size - from);
      await file.read(window, 0, window.length, from);
      const found = findLastLine(window, from === 0);
      if (found) return { sequence: found.sequence, bytes: from + found.bytes };
      if (from === 0) return undefined;
    }
  } finally {
    await file.close();
  }
}

function findLastLine(window: Buffer, isWhole: boolean): JournalEnd | undefined {
  let end = window.lastIndexOf(newLine);
  while (end > 0) {
    const start = window.lastIndexOf(newLine, end - 1) + 1;
    if (start === 0 && !isWhole) return undefined;
    const line = parseLine(window.subarray(start, end));
    if (line) return { sequence: line.sequence, bytes: end + 1 };
    end = start - 1;
  }
  return undefined;
}

/**
 * All lines after the first, in order, with their numbers; without an entry if one is damaged, or cut off at the
 * end.
 */
export async function* readJournal(path: string): AsyncGenerator<{ line: number; entry: JournalEntry | undefined }> {
  let line = 0;
  for await (const bytes of linesOf(path)) {
    line += 1;
    if (line > 1) yield { line, entry: parseLine<JournalEntry>(bytes) };
  }
}

async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(newLine); end >= 0; end = chunk.indexOf(newLine, from)) {
      yield Buffer.concat([...rest, chunk.subarray(from, end)]);
      rest = [];
      from = end + 1;
    }
    rest.push(chunk.subarray(from));
  }
  const last = Buffer.concat(rest);
  if (last.length > 0) yield last;
}
