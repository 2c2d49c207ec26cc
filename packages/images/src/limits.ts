import type { ImageFormat } from './types.ts';

const mebibyte = 1024 * 1024;

export const maxFileBytes = 200 * mebibyte;
/** An SVG is a program in small: what is longer takes long. */
export const maxSvgBytes = mebibyte;
/** Of a video, only the ends are fetched: where it says what it contains, and where it begins. */
export const videoHeadBytes = 32 * mebibyte;
export const videoTailBytes = 16 * mebibyte;
/** Enough to tell the format, and mostly the size in pixels. */
export const headBytes = 64 * 1024;
/** A child without an image: Node, sharp and libvips. */
export const idleChildBytes = 66 * mebibyte;
export const recycleRssBytes = 512 * mebibyte;
export const maxWaiting = 200;
/** Of an encoded variant. */
export const maxVariantBytes = 64 * mebibyte;
/** The longest side that any reader has to hold a row of. JPEG cannot be longer either. */
export const maxSide = 65_535;

/**
 * In pixels, of one frame: of an animation, only the first is decoded. That bounds the time; what the memory is enough for is
 * decided for each image. Phones take JPEGs of 200 megapixels.
 */
export const maxPixels: Record<ImageFormat, number> = {
  jpeg: 200_000_000,
  png: 100_000_000,
  webp: 100_000_000,
  gif: 50_000_000,
  avif: 100_000_000,
  tiff: 100_000_000,
  svg: 16_000_000,
};
