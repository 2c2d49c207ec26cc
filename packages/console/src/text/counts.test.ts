import { expect, test } from 'vitest';
import { de } from './de.ts';
import { en } from './en.ts';

test('a single byte is not several', () => {
  expect([1, 1001].map(en.preview.bytes)).toEqual(['1 byte', '1,001 bytes']);
  expect([1, 1001].map(de.preview.bytes)).toEqual(['1 Byte', '1.001 Bytes']);
});
