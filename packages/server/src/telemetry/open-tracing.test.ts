import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { openTracing } from './open-tracing.ts';
import { untraced } from './tracing.ts';

const toClose: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

/** A collector: takes OTLP over HTTP as JSON, and refuses it while `status` says so. */
async function startCollector() {
  const received: { path: string | undefined; body: string }[] = [];
  const collector = { url: '', received, status: 200 };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    received.push({ path: request.url, body: Buffer.concat(chunks).toString() });
    response.writeHead(collector.status, { 'Content-Type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  toClose.push(() => new Promise((resolve) => server.close(resolve)));
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return collector;
}

function createLines() {
  const lines: { msg: string }[] = [];
  return { lines, log: pino({}, { write: (line) => void lines.push(JSON.parse(line)) }) };
}

test('without an endpoint nothing is traced', async () => {
  expect((await openTracing(undefined, createLines().log)).tracing).toBe(untraced);
});

test('spans arrive at the collector as OTLP, with the name and version of the service', async () => {
  const collector = await startCollector();
  const { log, lines } = createLines();
  // With a path, and the slash that people add.
  const settings = { endpoint: `${collector.url}/otlp/`, ratio: 1, incomingPerSecond: 0 };
  const { tracing, close } = await openTracing(settings, log);
  const trace = tracing.ofRequest('record', undefined, () => ({ 'cadiz.request_id': 'r' }));
  await trace?.run('store HEAD', {}, 'client', async () => undefined);
  trace?.end();
  await close();
  expect(collector.received.map(({ path }) => path)).toEqual(['/otlp/v1/traces']);
  const { resourceSpans } = JSON.parse(collector.received[0]?.body ?? '');
  const [{ resource, scopeSpans }] = resourceSpans;
  const named = Object.fromEntries(resource.attributes.map(({ key, value }: Attribute) => [key, value.stringValue]));
  expect(named).toMatchObject({ 'service.name': 'cadiz', 'service.version': expect.stringMatching(/^\d+\.\d+\.\d+/) });
  const spans: { name: string; kind: number; traceId: string; parentSpanId?: string; spanId: string }[] =
    scopeSpans[0].spans;
  const [store, request] = spans;
  expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
    ['store HEAD', 3],
    ['record', 2],
  ]);
  expect(store).toMatchObject({ traceId: trace?.traceId, parentSpanId: request?.spanId });
  expect(lines).toEqual([]);
});

interface Attribute {
  key: string;
  value: { stringValue?: string };
}

test('a collector that takes no notice holds up no stop', { timeout: 9_000 }, async () => {
  const connections = new Set<Socket>();
  const deaf = createServer().on('connection', (socket) => connections.add(socket));
  deaf.on('request', () => undefined);
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(deaf.address() as AddressInfo).port}`;
  const { tracing, close } = await openTracing({ endpoint, ratio: 1, incomingPerSecond: 0 }, createLines().log);
  tracing.ofOwnWork('job', {})?.end();
  await close();
  // It has been asked, and has not answered.
  expect(connections.size).toBe(1);
  for (const socket of connections) socket.destroy();
  deaf.close();
});

test('a collector that refuses spans is told of once, and once more when it takes them again', async () => {
  const collector = await startCollector();
  const { log, lines } = createLines();
  const { tracing, close } = await openTracing({ endpoint: collector.url, ratio: 1, incomingPerSecond: 0 }, log);
  toClose.unshift(close);
  // The processor sends at once when it has a full batch.
  const sendBatch = async () => {
    const before = collector.received.length;
    for (let n = 0; n < 512; n += 1) tracing.ofOwnWork('job', {})?.end();
    await expect.poll(() => collector.received.length, { timeout: 10_000 }).toBeGreaterThan(before);
  };
  collector.status = 400;
  await sendBatch();
  await sendBatch();
  await expect.poll(() => lines.length).toBe(1);
  collector.status = 200;
  await sendBatch();
  await expect.poll(() => lines.length).toBe(2);
  expect(lines.map(({ msg }) => msg)).toEqual([
    'Could not send spans; those that cannot be sent are dropped',
    'Spans are sent again',
  ]);
});
