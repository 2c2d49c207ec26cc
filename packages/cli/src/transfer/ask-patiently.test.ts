import { expect, test } from 'vitest';
import { readRetryAfter } from './ask-patiently.ts';

test.each([
  [null, undefined],
  ['soon', undefined],
  ['0', 0],
  ['7', 7_000],
  ['86400', 60_000],
  ['Thu, 01 Jan 2026 00:00:05 GMT', 5_000],
  ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
])('Retry-After: %s is a wait of %s ms, and never of more than a minute', (value, milliseconds) => {
  expect(readRetryAfter(value, Date.UTC(2026, 0, 1))).toBe(milliseconds);
});
