import { crc32 } from 'node:zlib';

/** Where an object is in a pack: from which byte on its entry begins. */
export interface Packed {
  pack: string;
  at: number;
}

/** An entry as it was found in a pack. */
export interface FoundEntry {
  at: number;
  /** of the object in the index: bucket, NUL, key */
  name: Buffer;
  bytes: Buffer;
}

const magic = Buffer.from('Cdz1');
/** Magic, CRC-32 of all that follows, length of the name, length of the bytes. */
const headBytes = 16;
const mostNameBytes = 4096;
const mostBytes = 16 * 1024 * 1024;

/** How long the entry of an object is. */
export function entryBytes(name: Uint8Array, size: number): number {
  return headBytes + name.length + size;
}

/** The bytes of an object with what is needed to recognise them. */
export function encodeEntry(name: Uint8Array, bytes: Uint8Array): Buffer {
  const entry = Buffer.concat([Buffer.alloc(headBytes), name, bytes]);
  magic.copy(entry);
  entry.writeUInt32LE(name.length, 8);
  entry.writeUInt32LE(bytes.length, 12);
  entry.writeUInt32LE(crc32(entry.subarray(8)), 4);
  return entry;
}

/** The bytes of the object with this name; undefined if this is not its entry, or if anything in it has changed. */
export function decodeEntry(entry: Buffer, name: Uint8Array): Buffer | undefined {
  const length = entryLength(entry);
  if (length !== entry.length || entry.readUInt32LE(4) !== crc32(entry.subarray(8))) return undefined;
  const nameEnd = headBytes + entry.readUInt32LE(8);
  return entry.subarray(headBytes, nameEnd).equals(name) ? entry.subarray(nameEnd) : undefined;
}

/** How long the entry that begins here says that it is; undefined if none begins here. */
function entryLength(bytes: Buffer): number | undefined {
  if (bytes.length < headBytes || !bytes.subarray(0, magic.length).equals(magic)) return undefined;
  const [nameLength, size] = [bytes.readUInt32LE(8), bytes.readUInt32LE(12)];
  return nameLength <= mostNameBytes && size <= mostBytes ? headBytes + nameLength + size : undefined;
}

/** The sound entries of a whole pack, in order. What is damaged is left out. */
export function* entriesOf(pack: Buffer): Generator<FoundEntry> {
  for (let at = pack.indexOf(magic); at >= 0; ) {
    const length = entryLength(pack.subarray(at));
    const entry = length === undefined ? undefined : pack.subarray(at, at + length);
    if (entry && length === entry.length && entry.readUInt32LE(4) === crc32(entry.subarray(8))) {
      const nameEnd = headBytes + entry.readUInt32LE(8);
      yield { at, name: entry.subarray(headBytes, nameEnd), bytes: entry.subarray(nameEnd) };
      at = pack.indexOf(magic, at + length);
    } else {
      at = pack.indexOf(magic, at + 1);
    }
  }
}
