import { appendFileSync, closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import type { Metadata, Sharp } from 'sharp';
import sharp from 'sharp';
import { ImageRefused } from './errors.ts';
import { type ExifFacts, readExif } from './exif.ts';
import { type Header, type Read, readFrom, readHeader } from './header.ts';
import { maxPixels, maxSide } from './limits.ts';
import type { ImageFormat } from './types.ts';

// Images are looked at once: a cache would only hold their memory.
sharp.cache(false);
sharp.concurrency(1);
// What libvips could read besides (SVG, PDF, and whatever a system's libvips adds) is out of reach.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Tiff'].map((loader) => `VipsForeignLoad${loader}`),
});

/** An image whose header is read and within the limits. Nothing of it is decoded. */
export interface OpenImage {
  header: Header;
  metadata: Metadata;
  exif: ExifFacts;
  /** Upright, in pixels. */
  width: number;
  height: number;
  /** A pipeline of its first frame, upright. */
  pipeline(): Sharp;
  /** Does work that reads the bytes of its file. */
  reading<T>(work: (read: Read) => T): T;
}

/** Lets this process read SVG from now on. */
export function allowSvg(): void {
  sharp.unblock({ operation: ['VipsForeignLoadSvg'] });
}

/** @throws ImageRefused */
export async function openImage(file: string): Promise<OpenImage> {
  const header = readFile(file, requireHeader);
  requireWithinLimits(header);
  if (header.format === 'avif') nameAsStill(file);
  const options = { limitInputPixels: maxPixels[header.format], failOn: 'error', pages: 1 } as const;
  // From memory, an SVG has no folder that it could name other files of.
  const input = header.format === 'svg' ? readFileSync(file) : file;
  const metadata = await decoding(sharp(input, options).metadata());
  const { format, width, height, pageHeight = height } = metadata;
  if ((format === 'heif' ? 'avif' : format) !== header.format)
    throw new ImageRefused('broken', `It begins as ${header.format} and is ${format}.`);
  requireWithinLimits({ format: header.format, width, height: pageHeight });
  return {
    header: { ...header, width, height: pageHeight },
    metadata,
    exif: exifOf(file, header, metadata),
    width: metadata.autoOrient.width,
    height: metadata.autoOrient.height,
    pipeline: () => inEightBits(sharp(input, { ...options, autoOrient: true }), metadata),
    reading: (work) => readFile(file, work),
  };
}

/** Where the brand is in a file of the ISO base media format, ISO/IEC 14496-12 §4.3. */
const brandAt = 8;

/** libvips knows AVIF only by the brand of still images. Under that, it reads an animation as its first frame. */
function nameAsStill(file: string): void {
  if (readFile(file, (read) => read(brandAt, 4).toString('latin1')) !== 'avis') return;
  const opened = openSync(file, 'r+');
  try {
    writeSync(opened, 'avif', brandAt, 'latin1');
  } finally {
    closeSync(opened);
  }
}

/**
 * Has an image of more than 8 bits a sample reduced to 8 before its colour profile is applied: sharp transforms 16 bits to
 * Display P3 and then takes the numbers for sRGB.
 */
function inEightBits(pipeline: Sharp, { space }: Metadata): Sharp {
  return space === 'rgb16' ? pipeline.pipelineColourspace('srgb') : pipeline;
}

/**
 * Adds the marker that ends a JPEG to the file. Some programs leave it out, and libvips takes the image for cut off.
 *
 * @returns whether nothing else is missing: the last pixel is decoded without a warning
 */
export async function addEnd(file: string, { header, metadata }: OpenImage): Promise<boolean> {
  if (header.format !== 'jpeg') return false;
  appendFileSync(file, Buffer.from([0xff, 0xd9]));
  const lastPixel = { left: metadata.width - 1, top: metadata.height - 1, width: 1, height: 1 };
  const all = sharp(file, { limitInputPixels: maxPixels.jpeg, failOn: 'warning' }).extract(lastPixel);
  return all
    .raw()
    .toBuffer()
    .then(
      () => true,
      () => false,
    );
}

/** @throws ImageRefused if an image has more pixels than are read of its format; what is not known is within the limits */
export function requireWithinLimits({
  format,
  width,
  height,
}: { format: ImageFormat } & Pick<Header, 'width' | 'height'>) {
  if (width === null || height === null) return;
  if (width > maxSide || height > maxSide || width * height > maxPixels[format]) {
    const pixels = `${maxPixels[format] / 1e6} megapixels`;
    throw new ImageRefused(
      'too_large',
      `It is ${width} × ${height}; ${format} is read up to ${pixels}, and ${maxSide} a side.`,
    );
  }
}

const tooLarge = /exceeds pixel limit|out of memory|too large|unable to allocate|maximum size/i;

/** What libvips throws is the image's fault. */
export async function decoding<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new ImageRefused(tooLarge.test(message) ? 'too_large' : 'broken', message);
  }
}

function requireHeader(read: Read): Header {
  const header = readHeader(read);
  if (header === null) throw new ImageRefused('unsupported', 'It is no image of a format that is read.');
  return header;
}

function readFile<T>(file: string, work: (read: Read) => T): T {
  const opened = openSync(file, 'r');
  try {
    return work((offset, length) => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(opened, bytes, 0, length, offset));
    });
  } finally {
    closeSync(opened);
  }
}

/** libvips gives no EXIF of a TIFF, which is what EXIF is made of. */
function exifOf(file: string, { format }: Header, { exif }: Metadata): ExifFacts {
  if (format === 'tiff') return readFile(file, readExif);
  if (!exif) return { takenAt: null, hasLocation: false };
  return readExif(readFrom(exif.toString('latin1', 0, 4) === 'Exif' ? exif.subarray(6) : exif));
}
