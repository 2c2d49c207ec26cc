import { expect, test } from 'vitest';
import { readDuration, readEnd, readSize, toDuration, toSize } from './format.ts';

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.00 kB'],
  [9_994, '9.99 kB'],
  [9_995, '10.0 kB'],
  [99_949, '99.9 kB'],
  [99_950, '100 kB'],
  [999_499, '999 kB'],
  [999_500, '1.00 MB'],
  [5e15, '5.00 PB'],
])('%i bytes are %s', (bytes, text) => expect(toSize(bytes)).toBe(text));

test.each([
  [0, '0 s'],
  [59.4, '59 s'],
  [59.6, '1 min 0 s'],
  [3_725, '1 h 2 min'],
  [200_000, '2 d 7 h'],
])('%d seconds are %s', (seconds, text) => expect(toDuration(seconds)).toBe(text));

test('times and sizes are read with their units, and nothing else is', () => {
  expect([readDuration('x', '90s'), readDuration('x', '2w')]).toEqual([90, 1_209_600]);
  expect([readSize('x', '500'), readSize('x', '1.5kB'), readSize('x', '2GiB'), readSize('x', '1M')]).toEqual([
    500,
    1500,
    2 ** 31,
    1e6,
  ]);
  for (const text of ['', '0s', '1', '1y', '-1s', '1.5h']) expect(() => readDuration('x', text)).toThrow('--x');
  for (const text of ['', '-1', '1 x', 'kB', '1kBB', '9999TB']) expect(() => readSize('x', text)).toThrow('--x');
});

test('an end in time is one that the service can keep', () => {
  expect(Date.parse(readEnd('x', '2h')) - Date.now()).toBeGreaterThan(3_600_000);
  for (const text of ['999999w', '999999999w']) expect(() => readEnd('x', text)).toThrow('--x');
});
