import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { crc32, deflateSync } from 'node:zlib';
import { load } from 'exifreader';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ImageServer, startImageServer } from '../test/image-server.ts';
import { createImageMaker, type ImageMaker, type RenderOptions } from './index.ts';

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

const unchanged: RenderOptions = {
  width: null,
  height: null,
  fit: 'inside',
  position: 'center',
  quality: 90,
  format: 'webp',
};

/** The bytes of a variant, and what was said of it. */
async function make(bytes: Buffer, options: Partial<RenderOptions> = {}) {
  const name = crypto.randomUUID();
  const said: object[] = [];
  const rendered = await images.render(server.offer(name, bytes), { ...unchanged, ...options }, (made) => {
    said.push(made);
    return server.target(name);
  });
  const put = server.received.get(`/${name}`);
  if (!put) throw new Error('Nothing was put.');
  expect(said).toEqual([{ size: put.bytes.length, contentType: rendered.contentType }]);
  expect(put.headers).toMatchObject({ 'content-length': `${put.bytes.length}`, 'content-type': rendered.contentType });
  expect(rendered).toMatchObject({ size: put.bytes.length, etag: '0123456789abcdef' });
  return { ...rendered, bytes: put.bytes };
}

const colours = { red: [220, 20, 30], green: [20, 200, 40], blue: [30, 40, 220], white: [250, 250, 250] } as const;

/** Red and green above blue and white. */
function corners(width = 120, height = 80) {
  const names = [colours.red, colours.green, colours.blue, colours.white];
  const raw = Buffer.alloc(width * height * 3);
  for (let at = 0; at < width * height; at++) {
    const isRight = at % width >= width / 2;
    const isBelow = at >= (width * height) / 2;
    raw.set(names[Number(isRight) + 2 * Number(isBelow)] ?? [], at * 3);
  }
  return sharp(raw, { raw: { width, height, channels: 3 } });
}

/** The name of the colour near each corner: top left, top right, bottom left, bottom right. */
async function cornersOf(bytes: Buffer): Promise<string[]> {
  const { data, info } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const near = (x: number, y: number) => {
    const at = (Math.floor(y * info.height) * info.width + Math.floor(x * info.width)) * 3;
    const distance = ([, colour]: [string, readonly number[]]) =>
      Math.hypot(...colour.map((value, index) => value - (data[at + index] ?? 0)));
    return Object.entries(colours).sort((a, b) => distance(a) - distance(b))[0]?.[0] ?? '';
  };
  return [near(0.2, 0.2), near(0.8, 0.2), near(0.2, 0.8), near(0.8, 0.8)];
}

type Place = [x: number, y: number];

/** Which pixel of the upright image is stored at a place (CIPA DC-008, 4.6.4). */
const stored: Record<number, (x: number, y: number, right: number, bottom: number) => Place> = {
  1: (x, y) => [x, y],
  2: (x, y, right) => [right - x, y],
  3: (x, y, right, bottom) => [right - x, bottom - y],
  4: (x, y, _, bottom) => [x, bottom - y],
  5: (x, y) => [y, x],
  6: (x, y, right) => [right - y, x],
  7: (x, y, right, bottom) => [right - y, bottom - x],
  8: (x, y, _, bottom) => [y, bottom - x],
};

describe.each(Object.entries(stored))('orientation %s', (name, placeOf) => {
  const orientation = Number(name);
  const photo = async () => {
    const { data, info } = await corners().raw().toBuffer({ resolveWithObject: true });
    const [width, height] = orientation < 5 ? [info.width, info.height] : [info.height, info.width];
    const raw = Buffer.alloc(data.length);
    for (let at = 0; at < width * height; at++) {
      const [x, y] = placeOf(at % width, Math.floor(at / width), info.width - 1, info.height - 1);
      const from = (y * info.width + x) * 3;
      raw.set(data.subarray(from, from + 3), at * 3);
    }
    const image = sharp(raw, { raw: { width, height, channels: 3 } });
    return image.withMetadata({ orientation }).jpeg({ quality: 95 }).toBuffer();
  };

  test('is known, with the size upright', async () => {
    const facts = await images.look(server.offer(`orientation-${name}`, await photo()));
    expect(facts).toMatchObject({ orientation, width: 120, height: 80 });
  });

  test.each(['jpeg', 'webp', 'avif'] as const)('is upright as %s', async (format) => {
    const made = await make(await photo(), { width: 60, format });
    expect(made).toMatchObject({ width: 60, height: 40, contentType: `image/${format}` });
    expect(await cornersOf(made.bytes)).toEqual(['red', 'green', 'blue', 'white']);
    expect((await sharp(made.bytes).metadata()).orientation ?? 1).toBe(1);
  });
});

const exif = {
  IFD0: { Make: 'Camera maker', Model: 'Camera 1', Copyright: 'Somebody', Artist: 'Somebody' },
  IFD2: { DateTimeOriginal: '2024:02:29 13:45:06', BodySerialNumber: '123456' },
  IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '36/1 31/1 0/1', GPSLongitudeRef: 'W', GPSLongitude: '6/1 17/1 0/1' },
};
const xmp =
  '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description xmlns:exif="http://ns.adobe.com/exif/1.0/" exif:GPSLatitude="36,31N"/></rdf:RDF></x:xmpmeta>';

describe('what a camera writes', () => {
  test.each(['jpeg', 'png', 'webp', 'avif'] as const)('time and place are known from %s', async (format) => {
    const bytes = await corners().withExif(exif)[format]().toBuffer();
    expect(load(bytes)).toHaveProperty('GPSLatitude');
    const facts = await images.look(server.offer(`camera.${format}`, bytes));
    expect(facts).toMatchObject({ format, takenAt: '2024-02-29T13:45:06', hasLocation: true });
  });

  test('a place is known from TIFF, which libvips does not look for', async () => {
    const short = 3;
    const long = 4;
    const directory = (entries: number[][]) => {
      const bytes = Buffer.alloc(2 + entries.length * 12 + 4);
      bytes.writeUInt16LE(entries.length);
      for (const [index, [tag = 0, type = 0, value = 0]] of entries.entries()) {
        bytes.writeUInt16LE(tag, 2 + index * 12);
        bytes.writeUInt16LE(type, 4 + index * 12);
        bytes.writeUInt32LE(1, 6 + index * 12);
        bytes.writeUInt32LE(value, 10 + index * 12);
      }
      return bytes;
    };
    const pixel = [256, 257, 258, 259, 262].map((tag) => [tag, short, tag === 258 ? 8 : 1]);
    const strip = [
      [273, long, 8],
      [277, short, 1],
      [278, short, 1],
      [279, long, 1],
    ];
    const start = Buffer.from('II*\0\x0c\0\0\0\x80\0\0\0', 'latin1');
    const place = directory([[2, long, 36]]);
    const withPlace = directory([...pixel, ...strip, [0x8825, long, 12 + directory([...pixel, ...strip, []]).length]]);
    const located = Buffer.concat([start, withPlace, place]);
    expect(await images.look(server.offer('located.tiff', located))).toMatchObject({
      format: 'tiff',
      hasLocation: true,
    });
    const plain = Buffer.concat([start, directory([...pixel, ...strip])]);
    expect(await images.look(server.offer('plain.tiff', plain))).toMatchObject({ format: 'tiff', hasLocation: false });
  });

  test('BigTIFF may have a place: nothing is read of its EXIF', async () => {
    const big = await corners().tiff({ bigtiff: true, compression: 'deflate' }).toBuffer();
    expect(await images.look(server.offer('big.tiff', big))).toMatchObject({ format: 'tiff', hasLocation: true });
  });

  test('a place that only XMP names is known, and no place and no time', async () => {
    const only = await corners().withXmp(xmp).jpeg().toBuffer();
    expect(await images.look(server.offer('xmp', only))).toMatchObject({ takenAt: null, hasLocation: true });
    const without = await corners().withExif({ IFD0: exif.IFD0 }).jpeg().toBuffer();
    expect(await images.look(server.offer('without', without))).toMatchObject({ takenAt: null, hasLocation: false });
  });

  test.each(['2024:02:30 10:00:00', '0000:00:00 00:00:00', '    :  :     :  :  ', 'yesterday'])(
    'the time %j is not valid',
    async (DateTimeOriginal) => {
      const bytes = await corners().withExif({ IFD2: { DateTimeOriginal } }).jpeg().toBuffer();
      expect((await images.look(server.offer('time', bytes))).takenAt).toBeNull();
    },
  );

  test.each(['jpeg', 'webp', 'avif', 'png'] as const)('none of it is in a variant as %s', async (format) => {
    const bytes = await corners().withExif(exif).withXmp(xmp).withIccProfile('p3').jpeg().toBuffer();
    for (const width of [null, 60]) {
      const made = await make(bytes, { format, width });
      const { exif: kept, xmp: described, iptc, icc } = await sharp(made.bytes).metadata();
      expect([kept, described, iptc, icc]).toEqual([undefined, undefined, undefined, undefined]);
      const tags = Object.keys(load(made.bytes));
      expect(tags.filter((tag) => /gps|make|model|serial|date|artist|copyright|latitude/i.test(tag))).toEqual([]);
    }
  });
});

/** The mean of what an image shows, as 8-bit sRGB. */
async function meanOf(bytes: Buffer): Promise<number[]> {
  const { channels } = await sharp(bytes).stats();
  return channels.slice(0, 3).map(({ mean }) => mean);
}

const flat = (background: { r: number; g: number; b: number }) =>
  sharp({ create: { width: 64, height: 64, channels: 3, background } });

function expectNear(found: number[], wanted: number[], distance: number): void {
  for (const [index, value] of wanted.entries())
    expect(Math.abs((found[index] ?? -999) - value)).toBeLessThan(distance);
}

/** IEC 61966-2-1, which both spaces use: the light of a number, 0 to 1, and back. */
const toLight = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const fromLight = (light: number) => (light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055);

/** SMPTE EG 432-1 and ITU-R BT.709, both with a white of D65: from the light of one to that of the other. */
const p3ToSrgb = [
  [1.2249401, -0.2249402, 0],
  [-0.0420569, 1.0420571, 0],
  [-0.0196376, -0.0786361, 1.0982735],
];

/** The sRGB of a colour of Display P3, which must be one that sRGB has, both from 0 to 255. */
function fromDisplayP3(colour: number[]): number[] {
  const light = colour.map((value) => toLight(value / 255));
  return p3ToSrgb.map(
    (row) => 255 * fromLight(row.reduce((sum, share, index) => sum + share * (light[index] ?? 0), 0)),
  );
}

/** A PNG with another colour profile in front of its pixels, which stay as they are. */
function withProfile(png: Buffer, icc: Buffer): Buffer {
  const data = Buffer.concat([Buffer.from('icc\0\0', 'latin1'), deflateSync(icc)]);
  const body = Buffer.concat([Buffer.from('iCCP', 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  const afterHeader = 8 + 25;
  return Buffer.concat([png.subarray(0, afterHeader), length, body, sum, png.subarray(afterHeader)]);
}

/** A photograph that a package for tests ships, as it is. */
const photographFile = createRequire(import.meta.url)
  .resolve('autocannon/package.json')
  .replace('package.json', 'test/j5.jpeg');
const photograph = () => sharp(photographFile);

const hasPillow = spawnSync('/usr/bin/python3', ['-c', 'from PIL import ImageCms']).status === 0;

/** Pillow uses Little CMS with the profile in the file; the intent is the one that libvips uses. Adobe's CMYK JPEGs are inverted. */
const toSrgbWithPillow = `
import io, sys
from PIL import Image, ImageCms
image = Image.open(io.BytesIO(sys.stdin.buffer.read()))
profile = ImageCms.ImageCmsProfile(io.BytesIO(image.info['icc_profile']))
srgb = ImageCms.profileToProfile(image, profile, ImageCms.createProfile('sRGB'), renderingIntent=1, outputMode='RGB', flags=0x2000)
sys.stdout.buffer.write(srgb.tobytes())`;

describe('a photograph', () => {
  /** As a camera writes them: the photograph untouched, with its EXIF in a segment before it. */
  async function asFromCamera(orientation: number): Promise<Buffer> {
    const carrier = await corners()
      .withExif({
        IFD0: { Make: 'Canon', Model: 'Canon EOS 80D', Software: 'Firmware 1.0.2', DateTime: '2024:02:29 13:45:06' },
        IFD2: {
          ...exif.IFD2,
          ExposureTime: '1/250',
          FNumber: '56/10',
          LensModel: 'EF-S18-135mm f/3.5-5.6 IS USM',
          OffsetTimeOriginal: '+01:00',
        },
        IFD3: exif.IFD3,
      })
      .withMetadata({ orientation })
      .jpeg()
      .toBuffer();
    const at = carrier.indexOf(Buffer.from('Exif\0\0', 'latin1')) - 4;
    const segment = carrier.subarray(at, at + 2 + carrier.readUInt16BE(at + 2));
    const plain = readFileSync(photographFile);
    return Buffer.concat([plain.subarray(0, 2), segment, plain.subarray(2)]);
  }

  test.each([1, 3, 6, 8])(
    'of a camera that was held as orientation %i says looks the same, upright',
    async (orientation) => {
      const bytes = await asFromCamera(orientation);
      const isTurned = orientation > 4;
      expect(await images.look(server.offer('photo.jpg', bytes))).toMatchObject({
        width: isTurned ? 584 : 1169,
        height: isTurned ? 1169 : 584,
        orientation,
        takenAt: '2024-02-29T13:45:06',
        hasLocation: true,
      });
      const angle = { 1: 0, 3: 180, 6: 90, 8: 270 }[orientation] ?? 0;
      for (const format of ['webp', 'jpeg', 'png', 'avif'] as const) {
        const made = await make(bytes, { format, width: 300 });
        const [found, wanted] = await Promise.all([
          sharp(made.bytes).removeAlpha().raw().toBuffer(),
          sharp(await photograph().rotate(angle).png().toBuffer())
            .resize(made.width, made.height, { fit: 'fill' })
            .raw()
            .toBuffer(),
        ]);
        const far = found.reduce((sum, value, index) => sum + Math.abs(value - (wanted[index] ?? 0)), 0) / found.length;
        expect(far).toBeLessThan(6);
        const tags = Object.keys(load(made.bytes));
        expect(tags.filter((tag) => /gps|make|model|serial|date|lens|software|exposure/i.test(tag))).toEqual([]);
      }
    },
  );
});

describe('colours', () => {
  test('a Display P3 image looks the same in sRGB', async () => {
    const srgb = { r: 180, g: 90, b: 60 };
    const wide = await flat(srgb).withIccProfile('p3').png().toBuffer();
    // The numbers of the wide space differ, so that a profile which is dropped unused would show.
    const numbers = await sharp(wide, { ignoreIcc: true }).raw().toBuffer();
    expect(Math.abs((numbers[0] ?? 0) - srgb.r)).toBeGreaterThan(5);
    for (const format of ['webp', 'jpeg', 'png', 'avif'] as const) {
      expectNear(await meanOf((await make(wide, { format })).bytes), [srgb.r, srgb.g, srgb.b], 5);
    }
  });

  test.each(['srgb', 'p3'])('an image of more than 8 bits with the profile %s looks the same', async (profile) => {
    const deep = flat({ r: 200, g: 60, b: 40 }).toColourspace('rgb16').withIccProfile(profile);
    const avif = { bitdepth: 10, quality: 95, chromaSubsampling: '4:4:4' } as const;
    for (const image of [deep.clone().png(), deep.clone().tiff({ compression: 'lzw' }), deep.clone().avif(avif)]) {
      const bytes = await image.toBuffer();
      expect(await sharp(bytes).metadata()).toMatchObject({ space: 'rgb16', icc: expect.anything() });
      for (const format of ['webp', 'jpeg', 'png', 'avif'] as const)
        expectNear(await meanOf((await make(bytes, { format })).bytes), [200, 60, 40], 5);
    }
  });

  test.each(['webp', 'jpeg', 'png', 'avif'] as const)('a CMYK JPEG becomes sRGB as %s', async (format) => {
    // Most colours are changed when they become CMYK, by up to 25; this one hardly.
    // Inverted, it would be nearly black. By the plain formula, without a profile, its green would be off by 16.
    const srgb = { r: 120, g: 150, b: 170 };
    const bare = flat(srgb).toColourspace('cmyk');
    for (const cmyk of [bare.clone(), bare.clone().withIccProfile('cmyk')]) {
      const bytes = await cmyk.jpeg({ quality: 95 }).toBuffer();
      expect(await sharp(bytes).metadata()).toMatchObject({ space: 'cmyk', channels: 4 });
      const made = await make(bytes, { format, width: 32 });
      expect((await sharp(made.bytes).metadata()).space).toBe('srgb');
      expectNear(await meanOf(made.bytes), [srgb.r, srgb.g, srgb.b], 8);
    }
  });

  test('Display P3 becomes the sRGB that the primaries of both say', async () => {
    const icc = (
      await flat({ r: 1, g: 2, b: 3 })
        .withIccProfile('p3')
        .png()
        .toBuffer()
        .then((png) => sharp(png).metadata())
    ).icc;
    if (!icc) throw new Error('No profile');
    for (const p3 of [
      [200, 100, 60],
      [90, 140, 90],
      [60, 90, 180],
      [128, 128, 128],
      [230, 200, 190],
    ]) {
      const expected = fromDisplayP3(p3);
      // The numbers are those of the wide space, and the profile that says so is put in as it is.
      const png = await sharp(Buffer.from(Array.from({ length: 64 * 64 }, () => p3).flat()), {
        raw: { width: 64, height: 64, channels: 3 },
      })
        .png()
        .toBuffer();
      const wide = withProfile(png, icc);
      for (const format of ['png', 'jpeg', 'webp', 'avif'] as const)
        expectNear(await meanOf((await make(wide, { format })).bytes), expected, format === 'png' ? 2 : 4);
    }
  });

  test.runIf(hasPillow)('CMYK becomes the sRGB that Little CMS makes of it', async () => {
    const bare = await photograph()
      .resize(300)
      .toColourspace('cmyk')
      .withIccProfile('cmyk')
      .jpeg({ quality: 95 })
      .toBuffer();
    const reference = execFileSync('/usr/bin/python3', ['-c', toSrgbWithPillow], {
      input: bare,
      maxBuffer: 10_000_000,
    });
    const made = await make(bare, { format: 'png' });
    const found = await sharp(made.bytes).raw().toBuffer();
    expect(found).toHaveLength(reference.length);
    const far = found.reduce((sum, value, index) => sum + Math.abs(value - (reference[index] ?? 0)), 0) / found.length;
    expect(far).toBeLessThan(3);
  });

  test('what is transparent is white in a JPEG, and transparent elsewhere', async () => {
    const clear = await sharp({
      create: { width: 40, height: 40, channels: 4, background: { r: 9, g: 9, b: 9, alpha: 0 } },
    })
      .png()
      .toBuffer();
    expectNear(await meanOf((await make(clear, { format: 'jpeg' })).bytes), [255, 255, 255], 2);
    const webp = await make(clear, { format: 'webp' });
    expect((await sharp(webp.bytes).stats()).isOpaque).toBe(false);
    expect(await images.look(server.offer('clear', clear))).toMatchObject({ hasAlpha: true });
  });
});

describe('sizes', () => {
  test.each([
    [
      { width: 60, height: 60, fit: 'inside' },
      { width: 60, height: 40 },
    ],
    [
      { width: 60, height: 60, fit: 'cover' },
      { width: 60, height: 60 },
    ],
    [
      { width: 60, height: 60, fit: 'contain' },
      { width: 60, height: 60 },
    ],
    [
      { width: 60, height: 60, fit: 'cover', position: 'attention' },
      { width: 60, height: 60 },
    ],
    [
      { width: 60, height: 60, fit: 'cover', position: { x: 0.9, y: 0.1 } },
      { width: 60, height: 60 },
    ],
    [
      { width: null, height: 20 },
      { width: 30, height: 20 },
    ],
    [
      { width: 4000, height: 4000, fit: 'inside' },
      { width: 120, height: 80 },
    ],
    [
      { width: 4000, height: null, fit: 'cover' },
      { width: 120, height: 80 },
    ],
    [
      { width: 100, height: 4000, fit: 'cover', position: { x: 0.5, y: 0.5 } },
      { width: 100, height: 80 },
    ],
    [
      { width: null, height: null },
      { width: 120, height: 80 },
    ],
  ] satisfies [Partial<RenderOptions>, object][])('%j', async (options, size) => {
    const made = await make(await corners().png().toBuffer(), options);
    expect(made).toMatchObject(size);
    expect(await sharp(made.bytes).metadata()).toMatchObject(size);
  });

  test.each([
    [{ format: 'webp', width: 40 }, [33, 16_383]],
    [{ format: 'webp' }, [33, 16_383]],
    [{ format: 'avif', width: 40 }, [33, 16_383]],
    [{ format: 'webp', width: 20 }, [20, 10_000]],
    [{ format: 'jpeg', width: 40 }, [40, 20_000]],
    [{ format: 'png' }, [40, 20_000]],
  ] satisfies [Partial<RenderOptions>, number[]][])(
    'a long page is made as large as its format can hold: %j',
    async (options, size) => {
      const page = await corners(40, 20_000).png().toBuffer();
      const { width, height } = await make(page, { width: null, height: null, ...options });
      expect([width, height]).toEqual(size);
    },
  );

  test.each([
    [{ x: 0, y: 0 }, 'red'],
    [{ x: 1, y: 0 }, 'green'],
    [{ x: 0, y: 1 }, 'blue'],
    [{ x: 1, y: 1 }, 'white'],
  ])('a crop keeps what is at %j', async (position, colour) => {
    const tall = await corners(120, 400).png().toBuffer();
    const wide = await corners(400, 120).png().toBuffer();
    const shown = await Promise.all(
      [tall, wide].map(async (bytes) => (await make(bytes, { width: 40, height: 40, fit: 'cover', position })).bytes),
    );
    for (const bytes of shown) expect(await cornersOf(bytes)).toContain(colour);
  });

  test('of an animation, only the first frame is shown', async () => {
    const frames = await Promise.all(
      [colours.red, colours.blue].map(([r, g, b]) => flat({ r, g, b }).png().toBuffer()),
    );
    for (const format of ['gif', 'webp'] as const) {
      const animation = await sharp(frames, { join: { animated: true } })
        [format]()
        .toBuffer();
      const facts = await images.look(server.offer(`animation.${format}`, animation));
      expect(facts).toMatchObject({ format, frames: 2, width: 64, height: 64 });
      const made = await make(animation, { width: 32 });
      expect((await sharp(made.bytes).metadata()).pages ?? 1).toBe(1);
      expectNear(await meanOf(made.bytes), [...colours.red], 12);
    }
    // Animated AVIFs have a still image, too, and another brand.
    const [r, g, b] = colours.red;
    const avif = await flat({ r, g, b }).avif().toBuffer();
    avif.write('avis', 8, 'latin1');
    expect(await images.look(server.offer('animation.avif', avif))).toMatchObject({ format: 'avif', width: 64 });
    expectNear(await meanOf((await make(avif, { width: 32 })).bytes), [r, g, b], 12);
  });
});

test.each([false, true])(
  'a JPEG that lacks only the marker at its end is shown as with it (progressive: %s)',
  async (progressive) => {
    const jpeg = await corners(1200, 800).jpeg({ progressive }).toBuffer();
    const cut = jpeg.subarray(0, -2);
    expect(await images.look(server.offer('cut', cut))).toEqual(await images.look(server.offer('whole', jpeg)));
    for (const options of [{}, { width: 90 }]) {
      const [made, expected] = [await make(cut, options), await make(jpeg, options)];
      expect(made.bytes.equals(expected.bytes)).toBe(true);
    }
    await expect(make(jpeg.subarray(0, -60), { width: 90 })).rejects.toMatchObject({ reason: 'broken' });
  },
);

test('a thumbhash is made of every format', async () => {
  for (const format of ['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff'] as const) {
    const { thumbhash } = await images.look(server.offer(`hash.${format}`, await corners()[format]().toBuffer()));
    expect(Buffer.from(thumbhash ?? '', 'base64').length).toBeGreaterThan(15);
  }
});
