import { expect, test } from 'vitest';
import { de } from './de.ts';
import { en } from './en.ts';

test('a single byte is not several', () => {
  expect([1, 1001].map(en.preview.bytes)).toEqual(['1 byte', '1,001 bytes']);
  expect([1, 1001].map(de.preview.bytes)).toEqual(['1 Byte', '1.001 Bytes']);
});

test('thousands of uploads are counted as everything else is', () => {
  expect(en.uploads.title(1234, 12_345)).toBe('Uploading 1,234 of 12,345');
  expect(en.uploads.finished(1234, 1235)).toBe('1,234 files uploaded, 1,235 failed');
  expect(en.uploads.counts(1234, 2, 0, 11_111)).toBe('1,234 done · 2 now · 11,111 waiting');
  expect(de.uploads.title(1234, 12_345)).toBe('1.234 von 12.345 hochgeladen');
  expect(de.uploads.failed(1234)).toBe('1.234 gescheitert');
});
