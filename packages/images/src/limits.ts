import type { ImageFormat } from './types.ts';

const mebibyte = 1024 * 1024;

export const maxFileBytes = 200 * mebibyte;
/** Enough to tell the format, and mostly the size in pixels. */
export const headBytes = 64 * 1024;
/** A child without an image: Node, sharp and libvips. */
export const idleChildBytes = 66 * mebibyte;
/** A child that needs more after all than was estimated ends itself here. */
export const childCeilingBytes = 640 * mebibyte;
export const recycleRssBytes = 512 * mebibyte;
export const maxWaiting = 200;
/** Of an encoded variant. */
export const maxVariantBytes = 64 * mebibyte;
/** The longest side that any reader has to hold a row of. JPEG cannot be longer either. */
export const maxSide = 65_535;

/** In pixels, of one frame: of an animation, only the first is decoded. AVIF takes 20 bytes for each. */
export const maxPixels: Record<ImageFormat, number> = {
  jpeg: 100_000_000,
  png: 100_000_000,
  webp: 100_000_000,
  gif: 50_000_000,
  avif: 24_000_000,
  tiff: 100_000_000,
};
