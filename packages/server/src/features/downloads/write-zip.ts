import { crc32 } from 'node:zlib';
import { createSpool } from './spool.ts';

/** A folder (its path ends in a slash), or a file with its bytes. */
export interface ZipEntry {
  /** With slashes, but none at its start. */
  path: string;
  modifiedAt: Date;
  /** Absent for a folder. */
  content?: { sizeBytes: number; pieces: AsyncIterable<Buffer> };
}

/** What the ZIP's index keeps of each entry until it is written at the end. */
interface Written {
  name: Buffer;
  modifiedAt: Date;
  isFolder: boolean;
  offset: number;
  sizeBytes: number;
  crc: number;
}

const max32 = 0xffff_ffff;
const max16 = 0xffff;
const indexMemoryBytes = 1024 ** 2;

/**
 * Writes a ZIP of entries as they arrive, stored without compression, because media does not get smaller. Nothing is
 * held except the index, which a ZIP has at its end and which goes to a temporary file. Uses ZIP64 from 4 GiB or 65,535
 * entries.
 * @throws Error if an entry does not have as many bytes as declared, and whatever the entries throw
 * @see https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT (6.3.10)
 */
export async function* writeZip(entries: AsyncIterable<ZipEntry>): AsyncGenerator<Buffer, void> {
  const index = createSpool(indexMemoryBytes);
  let offset = 0;
  let count = 0;
  try {
    for await (const { path, modifiedAt, content } of entries) {
      const name = Buffer.from(path);
      const entry: Written = {
        name,
        modifiedAt,
        isFolder: !content,
        offset,
        sizeBytes: content?.sizeBytes ?? 0,
        crc: 0,
      };
      const header = toLocalHeader(entry);
      yield header;
      offset += header.length;
      if (content) {
        yield* writeContent(path, content, entry);
        const descriptor = toDescriptor(entry);
        yield descriptor;
        offset += content.sizeBytes + descriptor.length;
      }
      await index.add(toIndexEntry(entry));
      count += 1;
    }
    yield* index.read();
    yield toEnd(count, index.sizeBytes, offset);
  } finally {
    await index.close();
  }
}

/** Passes the bytes of a file on, and notes their checksum. */
async function* writeContent(
  path: string,
  { sizeBytes, pieces }: NonNullable<ZipEntry['content']>,
  entry: Written,
): AsyncGenerator<Buffer, void> {
  let left = sizeBytes;
  for await (const piece of pieces) {
    left -= piece.length;
    if (left < 0) break;
    entry.crc = crc32(piece, entry.crc);
    yield piece;
  }
  if (left !== 0) throw new Error(`${path} does not have the declared ${sizeBytes} bytes.`);
}

function isLarge({ sizeBytes }: Written): boolean {
  return sizeBytes >= max32;
}

/** Bit 3: size and checksum follow the bytes; bit 11: the name is UTF-8. */
function toFlags({ isFolder }: Written): number {
  return isFolder ? 0x0800 : 0x0808;
}

/** 4.3.7. The version that a reader must support is 4.5 for ZIP64, otherwise 2.0. */
function toLocalHeader(entry: Written): Buffer {
  const large = isLarge(entry);
  const extra = Buffer.concat([large ? toExtra(0x0001, u64(0), u64(0)) : Buffer.alloc(0), toTimeExtra(entry)]);
  const size = large ? max32 : 0;
  return Buffer.concat([
    u32(0x04034b50),
    u16(large ? 45 : 20),
    u16(toFlags(entry)),
    u16(0),
    toDosTime(entry.modifiedAt),
    u32(0),
    u32(size),
    u32(size),
    u16(entry.name.length),
    u16(extra.length),
    entry.name,
    extra,
  ]);
}

/** 4.3.9 */
function toDescriptor(entry: Written): Buffer {
  const size = isLarge(entry) ? u64(entry.sizeBytes) : u32(entry.sizeBytes);
  return Buffer.concat([u32(0x08074b50), u32(entry.crc), size, size]);
}

/** 4.3.12, and 4.5.3 for values that do not fit into 32 bits. Made by version 4.5 on Unix, so that modes count. */
function toIndexEntry(entry: Written): Buffer {
  const large = isLarge(entry);
  const far = entry.offset >= max32;
  const wide = [...(large ? [u64(entry.sizeBytes), u64(entry.sizeBytes)] : []), ...(far ? [u64(entry.offset)] : [])];
  const extra = Buffer.concat([wide.length > 0 ? toExtra(0x0001, ...wide) : Buffer.alloc(0), toTimeExtra(entry)]);
  const size = large ? max32 : entry.sizeBytes;
  const mode = entry.isFolder ? 0o40755 * 65_536 + 0x10 : 0o100644 * 65_536;
  return Buffer.concat([
    u32(0x02014b50),
    u16(3 * 256 + 45),
    u16(wide.length > 0 ? 45 : 20),
    u16(toFlags(entry)),
    u16(0),
    toDosTime(entry.modifiedAt),
    u32(entry.crc),
    u32(size),
    u32(size),
    u16(entry.name.length),
    u16(extra.length),
    u16(0),
    u16(0),
    u16(0),
    u32(mode),
    u32(far ? max32 : entry.offset),
    entry.name,
    extra,
  ]);
}

/** 4.3.14 to 4.3.16 */
function toEnd(count: number, indexBytes: number, indexOffset: number): Buffer {
  const needs64 = count >= max16 || indexBytes >= max32 || indexOffset >= max32;
  const end64 = [
    u32(0x06064b50),
    u64(44),
    u16(3 * 256 + 45),
    u16(45),
    u32(0),
    u32(0),
    u64(count),
    u64(count),
    u64(indexBytes),
    u64(indexOffset),
    u32(0x07064b50),
    u32(0),
    u64(indexOffset + indexBytes),
    u32(1),
  ];
  return Buffer.concat([
    ...(needs64 ? end64 : []),
    u32(0x06054b50),
    u16(0),
    u16(0),
    u16(Math.min(count, max16)),
    u16(Math.min(count, max16)),
    u32(Math.min(indexBytes, max32)),
    u32(Math.min(indexOffset, max32)),
    u16(0),
  ]);
}

/** Local time without a zone, from 1980 on, in steps of two seconds: UTC here, and exact in the extra field. */
function toDosTime(at: Date): Buffer {
  const year = Math.min(Math.max(at.getUTCFullYear(), 1980), 2107);
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  const date = ((year - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  return Buffer.concat([u16(time), u16(date)]);
}

/** Info-ZIP's extended timestamp: seconds since 1970. */
function toTimeExtra({ modifiedAt }: Written): Buffer {
  const seconds = Math.min(Math.max(Math.floor(modifiedAt.getTime() / 1000), 0), 0x7fff_ffff);
  return toExtra(0x5455, Buffer.from([1]), u32(seconds));
}

function toExtra(id: number, ...fields: Buffer[]): Buffer {
  const data = Buffer.concat(fields);
  return Buffer.concat([u16(id), u16(data.length), data]);
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
