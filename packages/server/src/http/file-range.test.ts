import { expect, test } from 'vitest';
import { toWanted } from './file-range.ts';

const etag = '"abc"';
const whole = { kind: 'whole' };
const beyond = { kind: 'beyond' };
const unchanged = { kind: 'unchanged' };
const another = { kind: 'another' };
const none = { range: undefined, ifRange: undefined, ifMatch: undefined, ifNoneMatch: undefined };
const part = (start: number, end: number) => ({ kind: 'part', start, end });

test.each([
  ['bytes=0-0', part(0, 0)],
  ['bytes=0-9', part(0, 9)],
  ['bytes=2-', part(2, 9)],
  ['bytes=2-1000', part(2, 9)],
  ['bytes=-3', part(7, 9)],
  ['bytes=-1000', part(0, 9)],
  ['Bytes=3-4', part(3, 4)],
  ['bytes=9-', part(9, 9)],
  ['bytes=10-', beyond],
  ['bytes=10-20', beyond],
  ['bytes=-0', beyond],
  ['bytes=99999999999999999999-', beyond],
  ['bytes=4-3', whole],
  ['bytes=-', whole],
  ['bytes=', whole],
  ['bytes=a-b', whole],
  ['bytes=0-1,3-4', whole],
  ['lines=0-1', whole],
  [undefined, whole],
])('Range: %s', (range, expected) => {
  expect(toWanted({ ...none, range }, etag, 10)).toEqual(expected);
});

test.each([
  ['"abc"', part(0, 1)],
  [' "abc" ', part(0, 1)],
  ['W/"abc"', whole],
  ['"other"', whole],
  ['Wed, 21 Oct 2026 07:28:00 GMT', whole],
])('If-Range: %s', (ifRange, expected) => {
  expect(toWanted({ ...none, range: 'bytes=0-1', ifRange }, etag, 10)).toEqual(expected);
});

test.each([
  ['"abc"', unchanged],
  ['W/"abc"', unchanged],
  ['"x", "abc"', unchanged],
  ['*', unchanged],
  ['"x"', whole],
  ['abc', whole],
])('If-None-Match: %s', (ifNoneMatch, expected) => {
  expect(toWanted({ ...none, ifNoneMatch }, etag, 10)).toEqual(expected);
});

test.each([
  ['"abc"', part(0, 1)],
  ['"x", "abc"', part(0, 1)],
  ['*', part(0, 1)],
  // Strongly, as RFC 9110 (13.1.1) has it compared.
  ['W/"abc"', another],
  ['"x"', another],
  ['', another],
])('If-Match: %s', (ifMatch, expected) => {
  expect(toWanted({ ...none, range: 'bytes=0-1', ifMatch }, etag, 10)).toEqual(expected);
});

test('If-Match comes before If-None-Match', () => {
  expect(toWanted({ ...none, ifMatch: '"x"', ifNoneMatch: '"abc"' }, etag, 10)).toEqual(another);
  expect(toWanted({ ...none, ifMatch: '"abc"', ifNoneMatch: '"abc"' }, etag, 10)).toEqual(unchanged);
});

test('an empty file is whole, and has no range', () => {
  expect(toWanted(none, etag, 0)).toEqual(whole);
  expect(toWanted({ ...none, range: 'bytes=0-' }, etag, 0)).toEqual(beyond);
});
