import { maxParts } from '@cadiz/contract';

export const mebibyte = 1024 ** 2;
/** What clients usually choose, our own first. */
const usualPartBytes = [16, 5, 8, 10, 15, 20, 25, 32, 50, 64, 100, 128, 256, 512].map((count) => count * mebibyte);

/** How many parts an object was uploaded in: S3 says so at the end of its ETag; 0 if it was sent whole. */
export function countPartsOf(etag: string): number {
  return Number(/-(\d+)$/.exec(etag)?.[1] ?? 0);
}

/** The least whole MiB for parts of an object, of which there are as many as its ETag says, or as few as it takes. */
export function leastPartSize(sizeBytes: number, etag: string): number {
  return Math.ceil(sizeBytes / (countPartsOf(etag) || maxParts) / mebibyte) * mebibyte;
}

/** The sizes of parts that an object with this ETag may have been uploaded in, the likeliest first; none if it was sent whole. */
export function findPartSizes(sizeBytes: number, etag: string): number[] {
  const count = countPartsOf(etag);
  const sizes = [...new Set([...usualPartBytes, leastPartSize(sizeBytes, etag)])];
  return sizes.filter((size) => Math.ceil(sizeBytes / size) === count);
}
