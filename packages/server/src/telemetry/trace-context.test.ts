import { expect, test } from 'vitest';
import { parseTraceparent, toTraceparent } from './trace-context.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

test.each([
  ['00', false],
  ['01', true],
  ['02', false],
  ['03', true],
  ['ff', true],
])('with the flags %s, isSampled is %s', (flags, isSampled) => {
  expect(parseTraceparent(`00-${traceId}-${spanId}-${flags}`)).toEqual({ traceId, spanId, isSampled });
});

test.each([
  undefined,
  '',
  `00-${traceId}-${spanId}-01 `,
  ` 00-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-0`,
  `00-${traceId}-${spanId}-0g`,
  `00-${traceId}-${spanId}-0A`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId}-${spanId.toUpperCase()}-01`,
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `00_${traceId}-${spanId}-01`,
  `01-${traceId}-${spanId}-01`,
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-01-extra`,
  `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
  `00-${traceId}\n${spanId}-01`,
])('%j is as good as none', (header) => {
  expect(parseTraceparent(header)).toBeUndefined();
});

test.each([true, false])('what is written is read again, with isSampled %s', (isSampled) => {
  const context = { traceId, spanId, isSampled };
  expect(toTraceparent(context)).toHaveLength(55);
  expect(parseTraceparent(toTraceparent(context))).toEqual(context);
});
