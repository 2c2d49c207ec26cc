import { afterEach, expect, test } from 'vitest';
import { now, setClock } from './clock.ts';

const answeredAt = (time: number) => new Response(null, { headers: { Date: new Date(time).toUTCString() } });

afterEach(() => setClock(answeredAt(Date.now())));

test.each([-2, 2])('a clock that is %s days off is set right by the service', (days) => {
  const right = Date.now() + days * 86_400_000;
  setClock(answeredAt(right));
  expect(Math.abs(now() - right)).toBeLessThan(60_000);
});

test('a clock that is right stays as it is, whatever the way of an answer takes', () => {
  setClock(answeredAt(Date.now() - 5000));
  const before = Date.now();
  expect(now()).toBeGreaterThanOrEqual(before);
  expect(now()).toBeLessThanOrEqual(Date.now());
});

test('an answer without a time says nothing', () => {
  setClock(new Response(null));
  const before = Date.now();
  expect(now()).toBeGreaterThanOrEqual(before);
});
