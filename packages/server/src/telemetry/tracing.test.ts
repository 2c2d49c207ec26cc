import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { expect, test } from 'vitest';
import { parseTraceparent } from './trace-context.ts';
import { createTracing, untraced } from './tracing.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const sampled = `00-${traceId}-00f067aa0ba902b7-01`;
const unsampled = `00-${traceId}-00f067aa0ba902b7-00`;

function open(ratio: number, incomingPerSecond: number, random = () => 0.5) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const clock = { now: 0 };
  const settings = { ratio, incomingPerSecond };
  const tracing = createTracing(provider.getTracer('test'), settings, random, () => clock.now);
  const request = (traceparent?: string) => tracing.ofRequest('list', traceparent, () => ({}));
  return { exporter, clock, request, tracing };
}

test('without a tracer, the ids of others are passed on, and nobody behind is asked to record', async () => {
  const trace = untraced.ofRequest('list', sampled, () => ({}));
  expect(trace).toMatchObject({ traceId, isRecorded: false });
  const passedOn = parseTraceparent(trace?.traceparent());
  expect(passedOn).toMatchObject({ traceId, isSampled: false });
  expect(passedOn?.spanId).not.toBe('00f067aa0ba902b7');
  expect(await trace?.run('part', {}, 'internal', async (part) => part)).toBe(trace);
  expect(untraced.ofRequest('list', undefined, () => ({}))).toBeUndefined();
  expect(untraced.ofRequest('list', 'nonsense', () => ({}))).toBeUndefined();
  expect(untraced.ofOwnWork('job', {})).toBeUndefined();
});

test('senders who say that they record are believed so often a second and no more', () => {
  const { clock, request } = open(0, 3);
  const recorded = (count: number) =>
    Array.from({ length: count }, () => request(sampled)).filter((trace) => trace?.isRecorded).length;
  expect(recorded(10)).toBe(3);
  clock.now += 999;
  expect(recorded(10)).toBe(2);
  clock.now += 60_000;
  expect(recorded(10)).toBe(3);
  // The others keep their id, for the log.
  expect(request(sampled)).toMatchObject({ traceId, isRecorded: false });
  expect(request(unsampled)?.isRecorded).toBe(false);
  expect(request(undefined)).toBeUndefined();
});

test('0 believes none', () => {
  expect(open(0, 0).request(sampled)?.isRecorded).toBe(false);
});

test('the ratio counts for requests of any kind, and takes nothing from those that senders record', () => {
  let next = 0;
  const { exporter, request, tracing } = open(0.1, 1, () => next);
  next = 0.09;
  expect(request(undefined)?.isRecorded).toBe(true);
  expect(request(unsampled)?.isRecorded).toBe(true);
  expect(request(sampled)?.isRecorded).toBe(true);
  tracing.ofOwnWork('job sweep', {})?.end();
  next = 0.1;
  expect(request(undefined)).toBeUndefined();
  expect(request(unsampled)?.isRecorded).toBe(false);
  expect(tracing.ofOwnWork('job sweep', {})).toBeUndefined();
  expect(request(sampled)?.isRecorded).toBe(true);
  expect(request(sampled)?.isRecorded).toBe(false);
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['job sweep']);
});

test('a span continues the trace of its sender, and ends with its work, failed or not', async () => {
  const { exporter, request } = open(0, 10);
  const trace = request(sampled);
  expect(parseTraceparent(trace?.traceparent())).toMatchObject({ traceId, isSampled: true });
  await trace?.run('well', { a: 1 }, 'client', async (part) => part.set({ b: 2 }));
  const failure = Object.assign(new Error('of somebody@example.com'), { code: '23505' });
  await expect(trace?.run('badly', {}, 'internal', () => Promise.reject(failure))).rejects.toBe(failure);
  trace?.end();
  const [well, badly, whole] = exporter.getFinishedSpans();
  expect(well).toMatchObject({ name: 'well', attributes: { a: 1, b: 2 }, status: { code: 0 } });
  expect(badly).toMatchObject({ name: 'badly', attributes: { 'error.type': '23505' }, status: { code: 2 } });
  expect(JSON.stringify([badly?.attributes, badly?.events, badly?.status])).not.toContain('somebody');
  expect(whole).toMatchObject({ name: 'list', parentSpanContext: { spanId: '00f067aa0ba902b7', isRemote: true } });
  for (const part of [well, badly]) {
    expect(part?.parentSpanContext?.spanId).toBe(whole?.spanContext().spanId);
    expect(part?.spanContext().traceId).toBe(traceId);
  }
});
