import { maxParts } from '@cadiz/contract';

const mebibyte = 1024 ** 2;
const usualPartBytes = 16 * mebibyte;

/**
 * The size of the parts of a file: 16 MiB or, for files over 156 GiB, as many whole MiB as it takes to stay within
 * 10,000 parts. S3 requires 5 MiB to 5 GiB for every part but the last.
 */
export function choosePartSize(fileSize: number): number {
  return Math.max(usualPartBytes, Math.ceil(fileSize / maxParts / mebibyte) * mebibyte);
}

/** No part is empty: an empty file is not uploaded in parts. */
export function countParts(fileSize: number, partSize: number): number {
  return Math.ceil(fileSize / partSize);
}

/** The size of one part in bytes: all have `partSize`, except the last, which has the rest. */
export function sizeOfPart(partNumber: number, fileSize: number, partSize: number): number {
  return Math.min(partSize, fileSize - (partNumber - 1) * partSize);
}
