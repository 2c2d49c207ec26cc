import { type Header, readFrom, readHeader } from './header.ts';
import { maxPixels } from './limits.ts';
import type { RenderOptions, VariantFormat } from './types.ts';

/** Measured with sharp 0.35.5: what encoding takes, in bytes for each pixel that is made. */
const encoding: Record<VariantFormat, number> = { webp: 16, jpeg: 10, png: 10, avif: 40 };
/** The same of AVIF with a quarter of the colour samples. */
const encodingLargeAvif = 25;

/** Above this, in pixels of either side, AVIF is made as fast as it can be, and with less colour: it would take seconds and much memory. */
const quickAvifFrom = 1200;

/** Whether an AVIF of this size is made in the quicker way. */
export function isLargeAvif({ format, width, height }: Pick<RenderOptions, 'format' | 'width' | 'height'>): boolean {
  return format === 'avif' && (width === null || height === null || Math.max(width, height) > quickAvifFrom);
}

/**
 * Reads format and size from an image's first bytes without decoding, and estimates the memory for reading it.
 *
 * @param head - the first bytes, 64 KiB or the whole image
 * @returns bytes, besides what a process takes anyway; as much as the largest of its format where the first bytes do not
 *   say its size; 0 if it is no image that is read here
 */
export function estimateMemory(head: Uint8Array): number {
  const header = readHeader(readFrom(head));
  return header === null ? 0 : memoryToRead(header);
}

/** What decoding takes, in bytes: measured for each format, and rounded up (docs/decisions/0068-images-in-a-child-process.md). */
export function memoryToRead({ format, width, height, isBuffered, bytesPerPixel }: Header): number {
  const pixels = width === null || height === null ? maxPixels[format] : width * height;
  return Math.ceil(pixels * perPixel());

  function perPixel(): number {
    switch (format) {
      case 'jpeg':
        return isBuffered ? bytesPerPixel + 0.5 : 1;
      case 'png':
        return isBuffered ? bytesPerPixel * 1.25 : Math.max(1, bytesPerPixel * 0.4);
      case 'webp':
        return 4;
      case 'gif':
        return 9;
      case 'avif':
        return 20;
      case 'svg':
        // A surface for each group that is transparent or filtered.
        return 16;
      case 'tiff':
        // A strip or tile may be as large as the image.
        return Math.max(1.5, bytesPerPixel);
    }
  }
}

/** What resizing and encoding takes, in bytes, from an upright image of this size. */
export function memoryToMake(options: RenderOptions, image: { width: number; height: number }): number {
  return Math.ceil(madePixels(options, image) * (isLargeAvif(options) ? encodingLargeAvif : encoding[options.format]));
}

function madePixels({ width, height, fit }: RenderOptions, image: { width: number; height: number }): number {
  // Padding makes up the whole box.
  if (fit === 'contain' && width !== null && height !== null) return width * height;
  if (fit === 'cover' && width !== null && height !== null) {
    return Math.min(width, image.width) * Math.min(height, image.height);
  }
  const byWidth = width === null ? 1 : width / image.width;
  const byHeight = height === null ? 1 : height / image.height;
  const scale = Math.min(1, byWidth, byHeight);
  return image.width * scale * (image.height * scale);
}
