import { randomBytes } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';

/** Its name, its bytes, and what looking at it comes to: its format, size and frames, or why it is refused. */
export type HostileFile = [name: string, bytes: Buffer, outcome: string | RegExp];

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

/** Files that are not what they seem, are cut off, or say that they are far larger than they are. */
export async function makeHostileFiles(): Promise<HostileFile[]> {
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

  return [
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
    ['cut a little.jpg', jpeg.subarray(0, -8), 'broken'],
    ['cut a little progressive.jpg', fine.subarray(0, -8), 'broken'],
    ['without its end.jpg', jpeg.subarray(0, -2), 'jpeg 300×200, 1'],
    ['without its end progressive.jpg', fine.subarray(0, -2), 'jpeg 300×200, 1'],
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
}
