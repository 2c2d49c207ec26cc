import { maxParts } from '@cadiz/contract';

const mebibyte = 1024 ** 2;
const usualPartBytes = 16 * mebibyte;

/**
 * How large the parts of a file are: 16 MiB, or for files of over 156 GiB as many whole MiB as it takes to stay within
 * 10,000 parts. S3 wants 5 MiB to 5 GiB of every part but the last.
 */
export function choosePartSize(fileSize: number): number {
  return Math.max(usualPartBytes, Math.ceil(fileSize / maxParts / mebibyte) * mebibyte);
}

/** No part is empty: an empty file is not uploaded in parts. */
export function countParts(fileSize: number, partSize: number): number {
  return Math.ceil(fileSize / partSize);
}

/** Bytes of one part: all have `partSize`, and the last has the rest. */
export function sizeOfPart(partNumber: number, fileSize: number, partSize: number): number {
  return Math.min(partSize, fileSize - (partNumber - 1) * partSize);
}
