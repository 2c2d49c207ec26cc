import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { cleanUp, embeddedSettings, type Settings, startService, stopService } from './service.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  while (undo.length > 0) await undo.pop()?.();
});

interface Span {
  name: string;
  traceId: string;
  parentSpanId?: string;
}

/** A collector of traces: OTLP over HTTP, as JSON. */
async function startCollector(): Promise<{ url: string; spans: Span[] }> {
  const spans: Span[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString());
    for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  undo.push(() => new Promise((resolve) => server.close(resolve)));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans };
}

async function start(more: Settings) {
  const settings = { ...(await embeddedSettings()), ...more };
  undo.push(() => cleanUp(settings));
  const service = await startService(settings);
  return { service, settings };
}

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;

/** The lines of a log about the service itself, and about requests. */
const toLines = (stderr: string): Record<string, unknown>[] =>
  stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));

test('the service sends its spans to a collector, until its end, and its start and stop are lines', async () => {
  const collector = await startCollector();
  const { service, settings } = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    TRACE_INCOMING_PER_SECOND: '100',
    LOG_SAMPLE: '1',
  });
  const live = (await (await fetch(`${service.url}/livez`)).json()) as { version: string };
  const account = { name: 'Ada', email: 'ada@example.com', password: 'correct horse battery staple' };
  const signedUp = await fetch(`${service.url}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', traceparent },
    body: JSON.stringify(account),
  });
  expect(signedUp.status).toBe(200);
  // Nothing is said about this one.
  await fetch(`${service.url}/api/projects`);
  const { stderr, code } = await stopService(service);
  expect(code).toBe(0);

  expect(new Set(collector.spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
  const names = collector.spans.map(({ name }) => name);
  expect(names).toContain('signUp');
  expect(names).toContain('database insert users');
  expect(collector.spans.find(({ name }) => name === 'signUp')?.parentSpanId).toBe('00f067aa0ba902b7');

  const lines = toLines(stderr);
  expect(lines.find(({ msg }) => msg === 'Started')).toMatchObject({
    version: live.version,
    node: process.version,
    port: Number(settings.PORT),
    database: 'embedded',
    objectStore: 'embedded',
    migrations: expect.any(Number),
  });
  expect(lines.find(({ operation }) => operation === 'signUp')).toMatchObject({ traceId, status: 200 });
  expect(lines.filter(({ operation }) => operation === 'live')).toEqual([]);
  expect(lines.slice(-2)).toMatchObject([{ msg: 'Stopping', uptimeSeconds: expect.any(Number) }, { msg: 'Stopped' }]);
  expect(stderr).not.toContain('ada@example.com');
});

test('an absent collector changes nothing', async () => {
  const { service } = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', TRACE_RATIO: '1' });
  const answer = await fetch(`${service.url}/api/projects`, { headers: { traceparent } });
  expect(await answer.json()).toMatchObject({ code: 'session_required', traceId });
  expect(answer.status).toBe(401);
  const { stderr, code } = await stopService(service);
  expect(code).toBe(0);
  expect(toLines(stderr).filter(({ msg }) => String(msg).startsWith('Could not send spans'))).not.toEqual([]);
});
