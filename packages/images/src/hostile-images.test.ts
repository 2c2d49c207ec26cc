import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type ImageServer, startImageServer } from '../test/image-server.ts';
import { createImageMaker, type ImageMaker, ImageRefused } from './index.ts';

const mebibyte = 1024 * 1024;
const fixture = (name: string) => readFileSync(new URL(`../test/${name}`, import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'hostile-images-'));
const temporary = mkdtempSync(join(tmpdir(), 'hostile-images-'));
const pids = new Set<number>();
let peakOfChildren = 0;
let server: ImageServer;
let images: ImageMaker;
let sampling: NodeJS.Timeout;

beforeAll(async () => {
  const script = fileURLToPath(new URL('../test/make-bombs.mjs', import.meta.url));
  await promisify(execFile)(process.execPath, [script, folder]);
  server = await startImageServer();
  vi.stubEnv('TMPDIR', temporary);
  images = createImageMaker({
    processes: 1,
    timeoutMs: 120_000,
    log: (event) => {
      if ('pid' in event && typeof event.pid === 'number') pids.add(event.pid);
    },
  });
  sampling = setInterval(sample, 20);
});

afterAll(async () => {
  clearInterval(sampling);
  await images.close();
  server.close();
  vi.unstubAllEnvs();
  for (const each of [folder, temporary]) rmSync(each, { recursive: true, force: true });
});

/** The kernel's own high-water mark of each child that is alive. */
function sample(): void {
  for (const pid of pids) {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      peakOfChildren = Math.max(peakOfChildren, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024);
    } catch {
      pids.delete(pid);
    }
  }
}

/** `looked` with what is known, or the reason of the refusal. Whatever else happens fails the test. */
async function outcomeOf(name: string, bytes: Buffer): Promise<string> {
  try {
    const { format, width, height, frames } = await images.look(server.offer(name, bytes));
    return `${format} ${width}×${height}, ${frames}`;
  } catch (error) {
    if (error instanceof ImageRefused) return error.reason;
    throw error;
  } finally {
    sample();
  }
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** A grey PNG of this size by its header, whose pixels are those of an 8 × 8 image; `extra` goes before them. */
function png(width: number, height: number, extra: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(8, 8);
  const pixels = deflateSync(Buffer.alloc(8 * 9));
  return Buffer.concat([
    pngSignature,
    pngChunk('IHDR', header),
    extra,
    pngChunk('IDAT', pixels),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** With another size in the header of its frame. */
function resizedJpeg(jpeg: Buffer, width: number, height: number): Buffer {
  const changed = Buffer.from(jpeg);
  const frame = [0xc0, 0xc2]
    .map((marker) => changed.indexOf(Buffer.from([0xff, marker, 0x00])))
    .find((at) => at !== -1);
  if (frame === undefined) throw new Error('No frame');
  changed.writeUInt16BE(height, frame + 5);
  changed.writeUInt16BE(width, frame + 7);
  return changed;
}

/** So many frames of one pixel. */
function gif(frames: number): Buffer {
  const head = Buffer.from('47494638396101000100800000000000ffffff', 'hex');
  const frame = Buffer.from('2c00000000010001000002024401' + '00', 'hex');
  return Buffer.concat([head, ...Array.from({ length: frames }, () => frame), Buffer.from([0x3b])]);
}

/** So many directories of one grey pixel each; the last one names the first as the next if `isEndless`. */
function tiff(pages: number, isEndless = false): Buffer {
  const entries = [
    [256, 3, 1],
    [257, 3, 1],
    [258, 3, 8],
    [259, 3, 1],
    [262, 3, 1],
    [273, 4, 8],
    [277, 3, 1],
    [278, 3, 1],
    [279, 4, 1],
  ] as const;
  const pageBytes = 2 + entries.length * 12 + 4;
  const file = Buffer.alloc(16 + pages * pageBytes);
  file.write('II*\0', 'latin1');
  file.writeUInt32LE(16, 4);
  for (let page = 0; page < pages; page++) {
    const at = 16 + page * pageBytes;
    file.writeUInt16LE(entries.length, at);
    for (const [index, [tag, type, value]] of entries.entries()) {
      file.writeUInt16LE(tag, at + 2 + index * 12);
      file.writeUInt16LE(type, at + 4 + index * 12);
      file.writeUInt32LE(1, at + 6 + index * 12);
      file.writeUInt32LE(value, at + 10 + index * 12);
    }
    const isLast = page === pages - 1;
    file.writeUInt32LE(isLast ? (isEndless ? 16 : 0) : at + pageBytes, at + pageBytes - 4);
  }
  return file;
}

/** Much text that is nearly nothing when it is compressed. */
const zeros = deflateSync(Buffer.alloc(100_000_000));
const named = (name: string, data: Buffer) => Buffer.concat([Buffer.from(`${name}\0\0`, 'latin1'), data]);

/** A JPEG with this before its frame. */
const withSegments = (jpeg: Buffer, segments: Buffer) =>
  Buffer.concat([jpeg.subarray(0, 2), segments, jpeg.subarray(2)]);
const segment = (marker: number, data: Buffer) => {
  const start = Buffer.from([0xff, marker, 0, 0]);
  start.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([start, data]);
};

test('images that ask for far more than their files have bytes are read within the memory, or refused', async () => {
  const known: Record<string, string> = {
    'animated.gif': 'gif 1500×1500, 30',
    'baseline.jpg': 'jpeg 10000×10000, 1',
    'deflate.tiff': 'tiff 7000×7000, 1',
    'interlaced.png': 'png 8000×8000, 1',
    'plain.png': 'png 10000×10000, 1',
    'plain.webp': 'webp 6000×6000, 1',
    'progressive.jpg': 'jpeg 10000×10000, 1',
  };
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder).sort()) found[name] = await outcomeOf(name, readFileSync(join(folder, name)));
  expect(found).toEqual(known);
  expect(await outcomeOf('24.avif', fixture('24-megapixels.avif'))).toBe('avif 4800×5000, 1');
  expect(await outcomeOf('49.avif', fixture('49-megapixels.avif'))).toBe('too_large');
});

test('hostile files are looked at or refused, and harm neither the child nor this process', async () => {
  const small = sharp(randomBytes(300 * 200 * 3), { raw: { width: 300, height: 200, channels: 3 } });
  const [jpeg, fine, plain, webp, avif, tif, animated] = await Promise.all([
    small.clone().jpeg().toBuffer(),
    small.clone().jpeg({ progressive: true, chromaSubsampling: '4:4:4' }).toBuffer(),
    small.clone().png().toBuffer(),
    small.clone().webp().toBuffer(),
    small.clone().avif({ effort: 0 }).toBuffer(),
    small.clone().tiff({ compression: 'deflate' }).toBuffer(),
    small.clone().gif({ effort: 1 }).toBuffer(),
  ]);
  const half = (bytes: Buffer) => bytes.subarray(0, bytes.length / 2);
  const endlessExif = Buffer.from(
    '457869660000' + '49492a0008000000' + '0100' + '6987040001000000' + '08000000' + '08000000',
    'hex',
  );

  const files: [string, Buffer, string | RegExp][] = [
    ['one byte', Buffer.from([0xff]), 'unsupported'],
    ['zero bytes', Buffer.alloc(0), 'unsupported'],
    ['zeros', Buffer.alloc(100_000), 'unsupported'],
    ['random', Buffer.concat([Buffer.from('x'), randomBytes(100_000)]), 'unsupported'],
    ['picture.svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'), 'unsupported'],
    [
      'entities.png',
      Buffer.from('<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><svg>&b;</svg>'),
      'unsupported',
    ],
    [
      'file.jpg',
      Buffer.from('<svg xmlns:x="http://www.w3.org/1999/xlink"><image x:href="file:///etc/passwd"/></svg>'),
      'unsupported',
    ],
    ['playlist.mp4', Buffer.from('#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n'), 'unsupported'],
    ['document.pdf', Buffer.from('%PDF-1.7\n1 0 obj <</Type /Catalog>> endobj'), 'unsupported'],
    [
      'phone.heic',
      Buffer.from(`00000018667479706865696300000000686569636d696631${'00'.repeat(100)}`, 'hex'),
      'unsupported',
    ],
    ['PDF before a JPEG', Buffer.concat([Buffer.from('%PDF-1.4\n'), jpeg]), 'unsupported'],
    ['a PNG named.jpg', plain, 'png 300×200, 1'],
    ['archive after a JPEG', Buffer.concat([jpeg, Buffer.from('PK\x03\x04'), randomBytes(10_000)]), 'jpeg 300×200, 1'],
    ['script in a GIF', Buffer.from('GIF89a/*aaaaaaaaaaaa*/=1;alert(1)//;'), 'too_large'],
    ['PNG, then JPEG', Buffer.concat([pngSignature, jpeg]), /broken|too_large/],
    ['RIFF', Buffer.concat([Buffer.from('RIFF\xff\xff\xff\x7fWEBP', 'latin1'), randomBytes(5000)]), 'broken'],
    [
      'AVIF brand',
      Buffer.concat([Buffer.from('\0\0\0\x14ftypavif\0\0\0\0avif', 'latin1'), randomBytes(5000)]),
      'broken',
    ],
    ['cut.jpg', half(jpeg), 'broken'],
    ['cut progressive.jpg', half(fine), 'broken'],
    ['cut.png', half(plain), 'broken'],
    ['cut.webp', half(webp), 'broken'],
    ['cut.avif', half(avif), 'broken'],
    ['cut.tiff', half(tif), 'broken'],
    ['cut.gif', half(animated), 'broken'],
    ['65535.jpg', resizedJpeg(jpeg, 65_535, 65_535), 'too_large'],
    // What is missing before its end is grey: libjpeg warns only.
    ['9900.jpg', resizedJpeg(jpeg, 9900, 9900), 'jpeg 9900×9900, 1'],
    ['progressive 4:4:4, 100 megapixels', resizedJpeg(fine, 10_000, 10_000), 'too_large'],
    ['65535.png', png(65_535, 65_535), 'too_large'],
    ['wide.png', png(2 ** 31 - 1, 1), 'too_large'],
    ['16000.png', png(16_000, 16_000), 'too_large'],
    ['9900.png', png(9900, 9900), 'broken'],
    ['zTXt.png', png(8, 8, pngChunk('zTXt', named('Comment', zeros))), /^(png 8×8, 1|broken)$/],
    ['iCCP.png', png(8, 8, pngChunk('iCCP', named('icc', zeros))), /^(png 8×8, 1|broken)$/],
    ['10000.gif', gif(10_000), 'gif 1×1, 10000'],
    ['5000 pages.tiff', tiff(5000), /^(tiff 1×1, 5000|broken)$/],
    ['endless.tiff', tiff(3, true), /^(tiff 1×1, \d+|broken)$/],
    ['endless EXIF', withSegments(jpeg, segment(0xe1, endlessExif)), 'jpeg 300×200, 1'],
    [
      'many segments',
      withSegments(jpeg, Buffer.concat(Array.from({ length: 50_000 }, () => segment(0xe5, Buffer.alloc(0))))),
      /^(jpeg 300×200, 1|broken|too_large)$/,
    ],
  ];
  const found = new Map<string, string>();
  const before = process.memoryUsage.rss();
  for (const [name, bytes] of files) found.set(name, await outcomeOf(name, bytes));
  const grown = process.memoryUsage.rss() - before;

  const expected = files.map(([name, , outcome]) => [
    name,
    typeof outcome === 'string' ? outcome : expect.stringMatching(outcome),
  ]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
  expect(grown).toBeLessThan(100 * mebibyte);
  const { failed, peakRssBytes } = images.figures();
  expect(failed).toEqual({ timeout: 0, crashed: 0, busy: 0, unreachable: 0 });
  expect(peakOfChildren).toBeGreaterThan(100 * mebibyte);
  expect(peakOfChildren).toBeLessThan(700 * mebibyte);
  expect(peakRssBytes).toBeLessThan(700 * mebibyte);
});

test('a file of more than 200 MiB is refused without asking for it', async () => {
  const source = { ...server.offer('huge', Buffer.alloc(10)), size: 201 * mebibyte };
  const asked = server.requests.length;
  await expect(images.look(source)).rejects.toMatchObject({ name: 'ImageRefused', reason: 'too_large' });
  expect(server.requests).toHaveLength(asked);
});

test('nothing is left in the folder for temporary files', async () => {
  expect(readdirSync(temporary)).toHaveLength(1);
  await images.close();
  expect(readdirSync(temporary)).toEqual([]);
});
