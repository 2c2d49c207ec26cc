import fc from 'fast-check';
import { expect, test } from 'vitest';
import { choosePartSize, countParts, sizeOfPart } from './part-plan.ts';

const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;
const tebibyte = 1024 ** 4;

test.each([
  [1, 16 * mebibyte, 1],
  [16 * mebibyte, 16 * mebibyte, 1],
  [16 * mebibyte + 1, 16 * mebibyte, 2],
  [100 * gibibyte, 16 * mebibyte, 6400],
  [10_000 * 16 * mebibyte, 16 * mebibyte, 10_000],
  [10_000 * 16 * mebibyte + 1, 17 * mebibyte, 9412],
  [5 * tebibyte, 525 * mebibyte, 9987],
])('%d bytes are cut into parts of %d bytes, %d of them', (fileSize, partSize, partCount) => {
  expect(choosePartSize(fileSize)).toBe(partSize);
  expect(countParts(fileSize, partSize)).toBe(partCount);
});

test('of any file the parts make up the whole, within the limits of S3', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 * tebibyte }), (fileSize) => {
      const partSize = choosePartSize(fileSize);
      const partCount = countParts(fileSize, partSize);
      expect(partSize % mebibyte).toBe(0);
      expect(partSize).toBeGreaterThanOrEqual(5 * mebibyte);
      expect(partSize).toBeLessThanOrEqual(5 * gibibyte);
      expect(partCount).toBeLessThanOrEqual(10_000);
      const last = sizeOfPart(partCount, fileSize, partSize);
      expect(last).toBeGreaterThanOrEqual(Math.min(fileSize, 1));
      expect(last).toBeLessThanOrEqual(partSize);
      expect((partCount - 1) * partSize + last).toBe(fileSize);
      if (partCount > 1) expect(sizeOfPart(1, fileSize, partSize)).toBe(partSize);
    }),
  );
});
