import { expect, test } from 'vitest';
import { attemptsAtMost, toPause, toWait } from './schedule.ts';

const failure = { status: 500, retryAfter: undefined, at: Date.UTC(2026, 0, 1) };

test('the waits are those of Standard Webhooks, moved by up to a fifth', () => {
  const waits = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
  for (const [index, wait] of waits.entries()) {
    const attempts = index + 1;
    expect(toWait({ ...failure, attempts }, 0)).toBeCloseTo(wait * 0.8);
    expect(toWait({ ...failure, attempts }, 1)).toBeCloseTo(wait * 1.2);
  }
  expect(toWait({ ...failure, attempts: attemptsAtMost })).toBeUndefined();
  expect(waits.reduce((sum, wait) => sum + wait)).toBe(75 * 3600 + 35 * 60 + 5);
});

test.each([
  ['400', 400],
  ['1', 300],
  ['0', 300],
  ['99999', 600],
  ['Thu, 01 Jan 2026 00:08:00 GMT', 480],
  ['Wed, 31 Dec 2025 00:00:00 GMT', 300],
])('Retry-After: %s means %d seconds before the third attempt', (retryAfter, seconds) => {
  expect(toWait({ ...failure, attempts: 2, retryAfter })).toBe(seconds);
});

test.each(['', 'soon', '-5', '1e9'])('Retry-After: %j counts for nothing', (retryAfter) => {
  expect(toWait({ ...failure, attempts: 2, retryAfter }, 0.5)).toBe(300);
});

test.each([
  [429, 5, 5],
  [502, 40, 40],
  [504, 36_000, 300],
  [undefined, 5, 5],
  [429, undefined, 300],
  [500, 5, 0],
  [404, 36_000, 0],
])('after %s, with %s s until the next attempt, the endpoint is left alone for %d s', (status, wait, seconds) => {
  expect(toPause({ status }, wait)).toBe(seconds);
});
