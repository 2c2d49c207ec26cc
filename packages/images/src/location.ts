import { inflateSync } from 'node:zlib';
import { readExif } from './exif.ts';
import { type Header, type Read, readFrom } from './header.ts';

/** What EXIF begins with wherever it is among other bytes. */
const exifStart = Buffer.from('Exif\0\0', 'latin1');

/** How XMP says it (CIPA DC-010), as an attribute or an element; without the last byte, both orders of UTF-16 are the same. */
const names = ['GPSLatitude', 'GPSDestLatitude'].flatMap((name) => [
  Buffer.from(name, 'latin1'),
  Buffer.from(name, 'utf16le').subarray(0, -1),
]);

const windowBytes = 1024 * 1024;
/** Longer than any of `names`, which may begin in one window and end in the next. */
const overlapBytes = 64;

/** Far more than pictures in pictures have. */
const maxExifs = 100;
/** Far more than programs write, even in chunks of a kilobyte. */
const maxChunks = 1_000_000;
/** Of all texts of a PNG together, inflated. */
const maxTextBytes = 16 * 1024 * 1024;

/** What has been looked at of a file: beyond the limits, it may say where it was taken. */
interface Looked {
  exifs: number;
  textBytes: number;
}

/**
 * Whether an image says where it was taken, or may say it, in places that libvips passes over: in further EXIF and XMP of a JPEG, in
 * the pictures behind its first one, behind the pixels of a PNG and in the texts that ImageMagick writes there, in the XMP of a GIF.
 */
export function findLocation(read: Read, { format }: Pick<Header, 'format'>): boolean {
  const looked = { exifs: 0, textBytes: 0 };
  return holdsLocation(read, looked) || (format === 'png' && pngHoldsLocation(read, looked));
}

function holdsLocation(read: Read, looked: Looked): boolean {
  for (let at = 0; ; at += windowBytes) {
    const bytes = read(at, windowBytes + overlapBytes);
    if (names.some((name) => bytes.includes(name))) return true;
    for (let found = bytes.indexOf(exifStart); found !== -1; found = bytes.indexOf(exifStart, found + 1)) {
      if (exifHoldsLocation(from(read, at + found + exifStart.length), looked)) return true;
    }
    if (bytes.length <= windowBytes) return false;
  }
}

function exifHoldsLocation(read: Read, looked: Looked): boolean {
  looked.exifs += 1;
  return looked.exifs > maxExifs || readExif(read).hasLocation;
}

/** PNG 3, 11.3: `eXIf` and texts may be anywhere between the first chunk and the last. */
function pngHoldsLocation(read: Read, looked: Looked): boolean {
  let at = 8;
  for (let chunk = 0; chunk < maxChunks; chunk++) {
    const start = read(at, 8);
    if (start.length < 8) return false;
    const length = start.readUInt32BE(0);
    const type = start.toString('latin1', 4, 8);
    if (type === 'IEND') return false;
    if (type === 'eXIf' && exifHoldsLocation(from(read, at + 8), looked)) return true;
    if (isText(type) && (length > maxTextBytes || textHoldsLocation(type, read(at + 8, length), looked))) return true;
    at += 12 + length;
  }
  return true;
}

type TextChunk = 'tEXt' | 'zTXt' | 'iTXt';

const isText = (type: string): type is TextChunk => ['tEXt', 'zTXt', 'iTXt'].includes(type);

function textHoldsLocation(type: TextChunk, chunk: Buffer, looked: Looked): boolean {
  const keywordEnd = endOf(chunk, 0);
  const keyword = chunk.toString('latin1', 0, keywordEnd);
  const text = readText(type, chunk, keywordEnd + 1);
  // It cannot be read, so it may say anything.
  if (text === null) return true;
  looked.textBytes += text.length;
  if (looked.textBytes > maxTextBytes) return true;
  const bytes = keyword.startsWith('Raw profile type ') ? readRawProfile(text) : text;
  return holdsLocation(readFrom(bytes), looked);
}

/** The text of a chunk, inflated; null if that fails, or would be too much. */
function readText(type: TextChunk, chunk: Buffer, at: number): Buffer | null {
  if (type === 'tEXt') return chunk.subarray(at);
  if (type === 'zTXt') return inflate(chunk.subarray(at + 1));
  const text = chunk.subarray(endOf(chunk, endOf(chunk, at + 2) + 1) + 1);
  return chunk[at] === 1 ? inflate(text) : text;
}

function inflate(bytes: Buffer): Buffer | null {
  try {
    return inflateSync(bytes, { maxOutputLength: maxTextBytes });
  } catch {
    return null;
  }
}

/** ImageMagick's: an empty line, the name, the length, and lines of hexadecimal digits. Some lack the start of EXIF. */
function readRawProfile(text: Buffer): Buffer {
  const digits = text.toString('latin1').split('\n').slice(3).join('');
  return Buffer.concat([exifStart, Buffer.from(digits, 'hex')]);
}

/** Where the zero byte is that ends a text; the end of the chunk if there is none. */
function endOf(chunk: Buffer, from: number): number {
  const end = chunk.indexOf(0, from);
  return end === -1 ? chunk.length : end;
}

const from =
  (read: Read, start: number): Read =>
  (offset, length) =>
    read(start + offset, length);
