import type { ImageFormat } from './types.ts';

/** What the first bytes of an image say about it. */
export interface Header {
  format: ImageFormat;
  /** In pixels, not turned. Null: not within these bytes. */
  width: number | null;
  height: number | null;
  /** The reader needs the whole image in memory: several scans in a JPEG, an interlaced PNG. */
  isBuffered: boolean;
  /** Of a decoded pixel. For a JPEG of several scans: of its coefficients. */
  bytesPerPixel: number;
}

/** Bytes at a place; fewer than `length` only at the end. */
export type Read = (offset: number, length: number) => Buffer;

export const readFrom =
  (bytes: Uint8Array): Read =>
  (offset, length) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).subarray(offset, offset + length);

/** What may come before the root element of an SVG. */
const svgStart = /^(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--[^>]*-->\s*)*(<!DOCTYPE svg[^>[]*>\s*)?<svg[\s>]/;

const avifBrands = new Set(['avif', 'avis']);

/** The format of an image by its first bytes, whatever it is named. Null: nothing that is read here. */
function sniff(head: Uint8Array): ImageFormat | null {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  const text = (from: number, to: number) => bytes.toString('latin1', from, to);
  if (text(0, 3) === '\xff\xd8\xff') return 'jpeg';
  if (text(0, 8) === '\x89PNG\r\n\x1a\n') return 'png';
  if (text(0, 4) === 'RIFF' && text(8, 12) === 'WEBP') return 'webp';
  if (text(0, 6) === 'GIF87a' || text(0, 6) === 'GIF89a') return 'gif';
  if (['II*\0', 'MM\0*', 'II+\0', 'MM\0+'].includes(text(0, 4))) return 'tiff';
  if (svgStart.test(text(0, 4096))) return 'svg';
  if (text(4, 8) === 'ftyp' && bytes.length >= 16) {
    const end = Math.min(bytes.readUInt32BE(0), bytes.length, 256);
    for (let at = 8; at + 4 <= end; at += at === 8 ? 8 : 4) if (avifBrands.has(text(at, at + 4))) return 'avif';
  }
  return null;
}

/**
 * Reads an image's format and size, without decoding anything.
 *
 * @returns null if it is no image that can be read here
 */
export function readHeader(read: Read): Header | null {
  const head = read(0, 64 * 1024);
  const format = sniff(head);
  if (format === null) return null;
  const unknown = { format, width: null, height: null, isBuffered: true, bytesPerPixel: 8 };
  try {
    return { ...unknown, ...readers[format](head, read) };
  } catch (error) {
    // Buffer's own error for a place behind its end.
    if (error instanceof RangeError) return unknown;
    throw error;
  }
}

const readers: Record<ImageFormat, (head: Buffer, read: Read) => Partial<Header>> = {
  jpeg: (_, read) => readJpeg(read),
  png: readPng,
  webp: readWebp,
  gif: (head) => ({ width: head.readUInt16LE(6), height: head.readUInt16LE(8), isBuffered: false, bytesPerPixel: 4 }),
  avif: readAvif,
  tiff: (_, read) => readTiff(read),
  svg: () => ({}),
};

/** Far more than any camera or program writes before the picture. */
const maxSegments = 4096;

/** ITU T.81, B.2: segments up to the first scan. */
function readJpeg(read: Read): Partial<Header> {
  let at = 2;
  let frame: {
    width: number;
    height: number;
    components: number;
    isProgressive: boolean;
    bytesPerPixel: number;
  } | null = null;
  for (let segment = 0; segment < maxSegments; segment++) {
    const start = read(at, 4);
    if (start.readUInt8(0) !== 0xff) return frame ?? {};
    const marker = start.readUInt8(1);
    // Fill bytes, and markers without a length.
    if (marker === 0xff || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
      at += marker === 0xff ? 1 : 2;
      continue;
    }
    if (marker === 0xd9) break;
    const length = start.readUInt16BE(2);
    if (marker === 0xda && frame) {
      const scanned = read(at + 4, 1).readUInt8(0);
      return { ...frame, isBuffered: frame.isProgressive || scanned < frame.components };
    }
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      frame = readFrame(marker, read(at + 4, length));
    at += 2 + length;
  }
  return frame ?? {};
}

function readFrame(marker: number, frame: Buffer) {
  const components = frame.readUInt8(5);
  const sampling = Array.from({ length: components }, (_, index) => frame.readUInt8(7 + index * 3));
  const across = sampling.map((both) => both >> 4);
  const down = sampling.map((both) => both & 15);
  const samples = sampling.reduce((sum, both) => sum + (both >> 4) * (both & 15), 0);
  return {
    width: frame.readUInt16BE(3),
    height: frame.readUInt16BE(1),
    components,
    isProgressive: (marker & 3) === 2,
    // A coefficient of two bytes for each sample.
    bytesPerPixel: (2 * samples) / Math.max(1, Math.max(...across) * Math.max(...down)),
  };
}

/** PNG 3, 11.2.1: IHDR comes first. */
function readPng(head: Buffer): Partial<Header> {
  const samples = [1, 0, 3, 3, 2, 0, 4][head.readUInt8(25)] ?? 4;
  return {
    width: head.readUInt32BE(16),
    height: head.readUInt32BE(20),
    isBuffered: head.readUInt8(28) !== 0,
    bytesPerPixel: samples * (head.readUInt8(24) === 16 ? 2 : 1),
  };
}

/** RFC 9649. */
function readWebp(head: Buffer): Partial<Header> {
  const known = { isBuffered: false, bytesPerPixel: 4 };
  const chunk = head.toString('latin1', 12, 16);
  if (chunk === 'VP8X') return { ...known, width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
  if (chunk === 'VP8 ')
    return { ...known, width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
  if (chunk !== 'VP8L') return {};
  const bits = head.readUInt32LE(21);
  return { ...known, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}

/** The largest `ispe` (ISO/IEC 23008-12, 6.5.3), wherever it is: tiles and thumbnails have smaller ones. */
function readAvif(head: Buffer): Partial<Header> {
  let width = 0;
  let height = 0;
  for (let at = head.indexOf('ispe'); at !== -1; at = head.indexOf('ispe', at + 4)) {
    if (at + 16 > head.length) break;
    const [w, h] = [head.readUInt32BE(at + 8), head.readUInt32BE(at + 12)];
    if (w * h > width * height) [width, height] = [w, h];
  }
  return width * height === 0 ? {} : { width, height, isBuffered: false, bytesPerPixel: 4 };
}

const tiffTags = { width: 256, height: 257, bitsPerSample: 258, samplesPerPixel: 277 };

/** TIFF 6, section 2: the first directory. BigTIFF is left to the decoder. */
function readTiff(read: Read): Partial<Header> {
  const start = read(0, 8);
  const isLittle = start.toString('latin1', 0, 2) === 'II';
  const short = (bytes: Buffer, at: number) => (isLittle ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at));
  const long = (bytes: Buffer, at: number) => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  if (short(start, 2) !== 42) return {};
  const directory = long(start, 4);
  const count = short(read(directory, 2), 0);
  const entries = read(directory + 2, count * 12);
  const find = (tag: number): number | null => {
    for (let at = 0; at + 12 <= entries.length; at += 12) {
      if (short(entries, at) !== tag) continue;
      if (short(entries, at + 2) === 4) return long(entries, at + 8);
      // More than two shorts are elsewhere, at the place that the entry holds.
      if (long(entries, at + 4) <= 2) return short(entries, at + 8);
      return short(read(long(entries, at + 8), 2), 0);
    }
    return null;
  };
  const bytesPerPixel = ((find(tiffTags.samplesPerPixel) ?? 1) * (find(tiffTags.bitsPerSample) ?? 8)) / 8;
  return { width: find(tiffTags.width), height: find(tiffTags.height), bytesPerPixel };
}
