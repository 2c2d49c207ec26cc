import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ImageServer, startImageServer } from '../test/image-server.ts';
import { readExif } from './exif.ts';
import { readFrom } from './header.ts';
import { createImageMaker, type ImageMaker } from './index.ts';

const picture = () => sharp({ create: { width: 40, height: 30, channels: 3, background: '#c84' } });
const ascii = (text: string) => Buffer.from(text, 'latin1');

const exif = { IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '36/1 31/1 0/1' } };
const described = (place: string) =>
  `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description xmlns:exif="http://ns.adobe.com/exif/1.0/" ${place}/></rdf:RDF></x:xmpmeta>`;
const xmp = described('exif:GPSLatitude="36,31N"');

/** The bytes behind the start of EXIF. */
async function tiffOf(kind: object): Promise<Buffer> {
  const { exif: found = Buffer.alloc(0) } = await sharp(await picture().withExif(kind).jpeg().toBuffer()).metadata();
  return found.subarray(6);
}

/** ITU T.81, B.1.1.4: an application segment. */
function app1(content: Buffer): Buffer {
  const start = Buffer.from([0xff, 0xe1, 0, 0]);
  start.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([start, content]);
}

async function jpegWith(...contents: Buffer[]): Promise<Buffer> {
  const plain = await picture().jpeg().toBuffer();
  return Buffer.concat([plain.subarray(0, 2), ...contents.map(app1), plain.subarray(2)]);
}

/** PNG 3, 5.3. */
function chunk(type: string, content: Buffer): Buffer {
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  const named = Buffer.concat([ascii(type), content]);
  length.writeUInt32BE(content.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}

/** A PNG with chunks behind its pixels. */
async function pngWith(...chunks: Buffer[]): Promise<Buffer> {
  const plain = await picture().png().toBuffer();
  return Buffer.concat([plain.subarray(0, -12), ...chunks, plain.subarray(-12)]);
}

/** As ImageMagick writes what it knows of a picture. */
function rawProfile(name: string, content: Buffer): Buffer {
  const lines = content.toString('hex').match(/.{1,72}/g) ?? [];
  return ascii(`\n${name}\n${String(content.length).padStart(8)}\n${lines.join('\n')}\n`);
}

const exifSegment = (tiff: Buffer) => Buffer.concat([ascii('Exif\0\0'), tiff]);
const xmpSegment = (text: Buffer) => Buffer.concat([ascii('http://ns.adobe.com/xap/1.0/\0'), text]);
const compressed = (content: Buffer) => Buffer.concat([Buffer.alloc(1), deflateSync(content)]);

describe('a place is found', () => {
  let server: ImageServer;
  let images: ImageMaker;

  beforeAll(async () => {
    server = await startImageServer();
    images = createImageMaker();
  });
  afterAll(async () => {
    await images.close();
    server.close();
  });

  const hasLocation = async (bytes: Buffer) => (await images.look(server.offer('picture', bytes))).hasLocation;

  test('in a second EXIF or XMP of a JPEG, in UTF-16, and in XMP that is continued elsewhere', async () => {
    const [none, place] = [await tiffOf({ IFD0: { Make: 'Camera' } }), await tiffOf(exif)];
    const extended = Buffer.concat([ascii('http://ns.adobe.com/xmp/extension/\0'), Buffer.alloc(40), ascii(xmp)]);
    expect(await hasLocation(await jpegWith(exifSegment(none), exifSegment(none)))).toBe(false);
    expect(await hasLocation(await jpegWith(exifSegment(none), exifSegment(place)))).toBe(true);
    const first = xmpSegment(ascii(described('exif:ISOSpeedRatings="100"')));
    expect(await hasLocation(await jpegWith(first))).toBe(false);
    expect(await hasLocation(await jpegWith(first, xmpSegment(ascii(xmp))))).toBe(true);
    expect(await hasLocation(await jpegWith(first, extended))).toBe(true);
    for (const text of [Buffer.from(xmp, 'utf16le'), Buffer.from(xmp, 'utf16le').swap16()])
      expect(await hasLocation(await jpegWith(xmpSegment(text)))).toBe(true);
    const destination = ascii(described('exif:GPSDestLatitude="36,31N"'));
    expect(await hasLocation(await jpegWith(xmpSegment(destination)))).toBe(true);
  });

  test('in a picture behind the first one, wherever that begins', async () => {
    const [plain, located] = [await picture().jpeg().toBuffer(), await picture().withExif(exif).jpeg().toBuffer()];
    expect(await hasLocation(Buffer.concat([plain, plain]))).toBe(false);
    const start = located.indexOf('Exif');
    for (const end of [plain.length, 1024 * 1024 - start - 3, 1024 * 1024 - start + 61, 3 * 1024 * 1024])
      expect(await hasLocation(Buffer.concat([plain, Buffer.alloc(end - plain.length), located]))).toBe(true);
  });

  test('behind the pixels of a PNG, also in compressed texts', async () => {
    const [none, place] = [await tiffOf({ IFD0: { Make: 'Camera' } }), await tiffOf(exif)];
    const text = (isCompressed: number, content: Buffer) =>
      chunk(
        'iTXt',
        Buffer.concat([ascii('XML:com.adobe.xmp\0'), Buffer.from([isCompressed, 0]), ascii('\0\0'), content]),
      );
    expect(await hasLocation(await pngWith(chunk('eXIf', none), text(1, deflateSync(ascii('x')))))).toBe(false);
    expect(await hasLocation(await pngWith(chunk('eXIf', place)))).toBe(true);
    expect(await hasLocation(await pngWith(text(0, ascii(xmp))))).toBe(true);
    expect(await hasLocation(await pngWith(text(1, deflateSync(ascii(xmp)))))).toBe(true);
  });

  test.each([
    ['exif', exifSegment],
    ['exif', (tiff: Buffer) => tiff],
    ['APP1', exifSegment],
  ] as const)('in what ImageMagick writes into a PNG as %s', async (name, toProfile) => {
    const keyword = ascii(`Raw profile type ${name}\0`);
    for (const [tiff, expected] of [[await tiffOf(exif), true] as const, [await tiffOf({}), false] as const]) {
      const profile = rawProfile(name, toProfile(tiff));
      expect(await hasLocation(await pngWith(chunk('tEXt', Buffer.concat([keyword, profile]))))).toBe(expected);
      expect(await hasLocation(await pngWith(chunk('zTXt', Buffer.concat([keyword, compressed(profile)]))))).toBe(
        expected,
      );
    }
    const described = rawProfile('xmp', ascii(xmp));
    const withXmp = Buffer.concat([ascii('Raw profile type xmp\0'), compressed(described)]);
    expect(await hasLocation(await pngWith(chunk('zTXt', withXmp)))).toBe(true);
  });

  test('where a text cannot be read, there may be one', async () => {
    const damaged = Buffer.concat([ascii('Comment\0\0'), ascii('not deflated')]);
    expect(await hasLocation(await pngWith(chunk('zTXt', damaged)))).toBe(true);
    const bomb = Buffer.concat([ascii('Comment\0'), compressed(Buffer.alloc(17 * 1024 * 1024))]);
    expect(await hasLocation(await pngWith(chunk('zTXt', bomb)))).toBe(true);
  });

  test('in the XMP of a GIF', async () => {
    const plain = await picture().gif().toBuffer();
    const extension = Buffer.concat([Buffer.from([0x21, 0xff, 11]), ascii(`XMP DataXMP${xmp}`)]);
    // The end of such a block leads any reader to a zero byte (XMP part 3, 1.1.2).
    const trailer = Buffer.from([1, ...Array.from({ length: 256 }, (_, index) => 255 - index), 0]);
    const located = Buffer.concat([plain.subarray(0, -1), extension, trailer, plain.subarray(-1)]);
    expect(await hasLocation(plain)).toBe(false);
    expect(await hasLocation(located)).toBe(true);
  });

  test('on a further page of a TIFF', async () => {
    const plain = await picture().tiff().toBuffer();
    expect(await hasLocation(plain)).toBe(false);
    const first = plain.readUInt32LE(4);
    const count = plain.readUInt16LE(first);
    const entries = plain.subarray(first + 2, first + 2 + count * 12);
    // The same page again, with where the place is: behind the end.
    const place = Buffer.from([0x25, 0x88, 4, 0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0]);
    const pages = Buffer.concat([plain, Buffer.from([count + 1, 0]), entries, place]);
    pages.writeUInt32LE(plain.length, first + 2 + count * 12);
    expect(await hasLocation(pages)).toBe(true);
  });

  test('or may be there, in a PNG with more EXIF and text than programs write', async () => {
    const plain = await tiffOf({});
    const exifs = (count: number) => pngWith(...Array.from({ length: count }, () => chunk('eXIf', plain)));
    expect(await hasLocation(await exifs(100))).toBe(false);
    expect(await hasLocation(await exifs(101))).toBe(true);

    const note = chunk('zTXt', Buffer.concat([ascii('note\0'), compressed(Buffer.alloc(6 * 1024 * 1024))]));
    expect(await hasLocation(await pngWith(note, note))).toBe(false);
    expect(await hasLocation(await pngWith(note, note, note))).toBe(true);
  });
});

test('EXIF that leads to the same entries again and again takes few reads', () => {
  const entries = 1000;
  const file = Buffer.alloc(8 + 2 + entries * 12 + 4);
  file.write('II*\0', 'latin1');
  for (const place of [4, file.length - 4]) file.writeUInt32LE(8, place);
  file.writeUInt16LE(entries, 8);
  for (let at = 10; at < file.length - 4; at += 12) file.writeUInt16LE(1, at);
  const read = readFrom(file);
  let reads = 0;
  const counting = (offset: number, length: number) => {
    reads += 1;
    return read(offset, length);
  };
  expect(readExif(counting)).toEqual({ takenAt: null, hasLocation: false });
  expect(reads).toBeLessThan(1000);
});
