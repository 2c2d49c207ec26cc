import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { Damaged, systemCode } from './disk-error.ts';
import { type Fixity, fixityOf, toValue } from './fixity.ts';
import type { ObjectRecord } from './index-record.ts';
import type { Packed } from './pack-entry.ts';
import type { Store } from './store.ts';
import { partsAt } from './upload-index.ts';

/** Some bytes of an object, ready to be read whatever happens to the object in the meantime. */
export interface Content {
  /** All of them, if there are few. */
  bytes?: Buffer;
  stream(): Readable;
  /** The same bytes; every part that is read whole is checked. */
  verified(): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

/** Byte offsets, both included; last < first means no bytes. */
export interface ByteRange {
  first: number;
  last: number;
}

/** The part of a blob that is to be read. */
interface Piece extends ByteRange {
  blob: string;
  /** of the whole blob */
  size: number;
  /** of a part */
  fixity?: Fixity;
}

const chunkBytes = 256 * 1024;
const attempts = 5;

/**
 * Finds an object and opens it. If the object is replaced or moved, and its file removed, between the two, the index is
 * asked again.
 *
 * @throws Damaged if the file is missing or has another size, or bytes in a pack have changed; and what `find` throws
 */
export async function openContent<T>(
  store: Store,
  name: { bucket: string; key: string },
  find: () => { record: ObjectRecord; range: ByteRange; found: T },
): Promise<{ found: T; content: Content }> {
  for (let attempt = 1; ; attempt += 1) {
    const { record, range, found } = find();
    if (record.inline) return { found, content: toShortContent(readInline(store, name, record), range) };
    if (record.packed) {
      const isEmpty = range.last < range.first;
      const bytes = isEmpty ? Buffer.alloc(0) : await readPacked(store, name, record, record.packed, attempt);
      if (!bytes) continue;
      return { found, content: toShortContent(bytes, range) };
    }
    const pieces = findPieces(store, record, range);
    const release = pieces.length > 1 ? store.reaper.hold(pieces.map(({ blob }) => blob)) : () => undefined;
    try {
      const first = pieces[0] && (await openPiece(store, pieces[0]));
      return { found, content: toContent(store, pieces, first, release) };
    } catch (error) {
      release();
      if (systemCode(error) !== 'ENOENT') throw error;
      if (attempt < attempts) continue;
      store.log({ level: 'error', message: 'The file of an object is missing.', blob: pieces[0]?.blob });
      throw new Damaged();
    }
  }
}

/** Undefined if the pack is gone, and the index should be asked again. */
async function readPacked(
  { index, packs, log }: Store,
  { bucket, key }: { bucket: string; key: string },
  { size }: ObjectRecord,
  packed: Packed,
  attempt: number,
): Promise<Buffer | undefined> {
  try {
    return await packs.read(index.nameOf(bucket, key), packed, size);
  } catch (error) {
    const isGone = systemCode(error) === 'ENOENT';
    if (isGone && attempt < attempts) return undefined;
    if (!isGone && !(error instanceof Damaged)) throw error;
    const message = isGone ? 'The pack of an object is missing.' : 'An entry of a pack is damaged.';
    log({ level: 'error', message, ...packed });
    throw new Damaged();
  }
}

/** In the same turn in which the index returned the record, it returns the bytes of the same commit. */
function readInline({ index, log }: Store, { bucket, key }: { bucket: string; key: string }, record: ObjectRecord) {
  const bytes = index.readInline(bucket, key);
  if (bytes?.length === record.size) return bytes;
  log({ level: 'error', message: 'The index lacks the bytes of an object.', etag: record.etag });
  throw new Damaged();
}

function toShortContent(all: Buffer, { first, last }: ByteRange): Content {
  const bytes = all.subarray(first, last + 1);
  const stream = () => Readable.from(bytes.length > 0 ? [bytes] : []);
  return { bytes, stream, verified: stream, close: async () => undefined };
}

function findPieces({ index }: Store, record: ObjectRecord, { first, last }: ByteRange): Piece[] {
  if (record.blob !== undefined) return [{ blob: record.blob, size: record.size, first, last }];
  const pieces: Piece[] = [];
  if (!record.multipart) return pieces;
  for (const part of partsAt(index.uploads, record.multipart, first)) {
    const { blob, size, begin } = part;
    if (begin > last) break;
    const range = { first: Math.max(first - begin, 0), last: Math.min(last - begin, size - 1) };
    const piece = { blob, size, fixity: fixityOf(part), ...range };
    if (piece.first <= piece.last) pieces.push(piece);
  }
  return pieces;
}

async function openPiece(store: Store, { blob, size: expected }: Piece): Promise<FileHandle> {
  const file = await store.blobs.open(blob);
  const { size } = await file.stat();
  if (size === expected) return file;
  await file.close();
  store.log({ level: 'error', message: 'A blob has the wrong size.', blob, size, expected });
  throw new Damaged();
}

function toContent(
  store: Store,
  pieces: readonly Piece[],
  first: FileHandle | undefined,
  release: () => void,
): Content {
  const [piece, ...rest] = pieces;
  return {
    stream: () => {
      if (!piece || !first) return Readable.from([]);
      if (rest.length === 0) return streamPiece(first, piece);
      const bytes = readPieces(store, first, piece, rest, streamPiece);
      return Readable.from(bytes, { objectMode: false, highWaterMark: chunkBytes });
    },
    verified: () => {
      if (!piece || !first) return Readable.from([]);
      return readPieces(store, first, piece, rest, (file, part) => verifyPiece(store, file, part));
    },
    close: async () => {
      release();
      await first?.close();
    },
  };
}

async function* readPieces(
  store: Store,
  file: FileHandle,
  piece: Piece,
  rest: readonly Piece[],
  read: (file: FileHandle, piece: Piece) => AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  yield* read(file, piece);
  for (const next of rest) {
    const opened = await openPiece(store, next);
    try {
      yield* read(opened, next);
    } finally {
      await opened.close();
    }
  }
}

/** A part that is not read whole can only be checked by its size. */
async function* verifyPiece(store: Store, file: FileHandle, piece: Piece): AsyncGenerator<Buffer> {
  const { fixity, size, first, last } = piece;
  if (!fixity || last - first + 1 < size) return yield* streamPiece(file, piece);
  const running = store.digestThreads.open([fixity.name]);
  try {
    for await (const chunk of streamPiece(file, piece) as AsyncIterable<Buffer>) {
      await running.update(chunk);
      yield chunk;
    }
    const digests = await running.finish();
    const digest = digests.get(fixity.name);
    if (!digest || toValue(fixity.name, digest) !== fixity.value) throw new Damaged();
  } finally {
    running.discard();
  }
}

function streamPiece(file: FileHandle, { first, last }: Piece): Readable {
  if (last < first) return Readable.from([]);
  return file.createReadStream({ start: first, end: last, highWaterMark: chunkBytes, autoClose: false });
}
