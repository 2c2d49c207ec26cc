import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createImageMaker, type ImageMaker } from '@cadiz/images';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { drainWork } from '../../test/drain-work.ts';
import { type Person, startTestService, type TestService } from '../../test/service.ts';
import { createJobs } from '../jobs/jobs.ts';
import { createS3Store } from '../store/s3-store.ts';
import { parseTraceparent } from '../telemetry/trace-context.ts';
import { createTracing } from '../telemetry/tracing.ts';
import { createApp } from './app.ts';

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
/** What `TRACE_RATIO` would be; requests are recorded if their sender records them. */
let ratio = 0;
const tracing = createTracing(
  provider.getTracer('test'),
  { ratio: 0.5, incomingPerSecond: 1_000_000 },
  () => 1 - ratio,
);

let service: TestService;
let images: ImageMaker;
let ada: Person;
let projectId: string;
let key: { id: string; key: string };
/** The headers of every request that has reached the store through `app`. */
const atStore: IncomingHttpHeaders[] = [];
let app: ReturnType<typeof createApp>;
const closers: (() => void)[] = [];

beforeAll(async () => {
  images = createImageMaker();
  service = await startTestService({ tracing, images });
  ada = await service.signUp();
  projectId = await service.createProject(ada);
  key = await service.createKey(ada, projectId);
  const objects = createS3Store({ ...service.deps.storeSettings, endpoint: await startForwarder() }, service.deps.now);
  app = createApp({ ...service.deps, objects });
});
afterAll(async () => {
  for (const close of closers) close();
  await images.close();
  await service.close();
});
beforeEach(() => {
  ratio = 0;
  exporter.reset();
  atStore.length = 0;
});

/** Passes requests on to the real store, and keeps their headers. */
async function startForwarder(): Promise<string> {
  const { hostname, port } = new URL(service.deps.storeSettings.endpoint);
  const server = createServer((request, response) => {
    atStore.push(request.headers);
    const { method, url: path, headers } = request;
    const forwarded = send({ hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    request.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function newTrace(flags: '00' | '01') {
  const traceId = randomBytes(16).toString('hex');
  return { traceId, traceparent: `00-${traceId}-00f067aa0ba902b7-${flags}` };
}

function post(path: string, body: object, headers: Record<string, string>) {
  const all = { 'Content-Type': 'application/json', Authorization: `Bearer ${key.key}`, ...headers };
  return app.fetch(
    new Request(`http://localhost${path}`, { method: 'POST', headers: all, body: JSON.stringify(body) }),
  );
}

/** The spans of a trace, by the one above them: `record > store HEAD`. */
function pathsOf(traceId: string): string[] {
  const spans = exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId);
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const toPath = (span: ReadableSpan): string => {
    const above = byId.get(span.parentSpanContext?.spanId ?? '');
    return above ? `${toPath(above)} > ${span.name}` : span.name;
  };
  return spans.map(toPath).sort();
}

const linesWith = (text: string) =>
  service
    .logged()
    .split('\n')
    .filter((line) => line.includes(text))
    .map((line) => JSON.parse(line));

describe('a request with a traceparent', () => {
  test('has its trace id in its problem document, and in those of the entries of a batch', async () => {
    const { traceId, traceparent } = newTrace('00');
    const absent = await service.call('GET', '/api/storage/list?projectId=nonsense', {
      key: key.key,
      headers: { traceparent },
    });
    expect(absent.body).toMatchObject({ code: 'invalid_request', traceId });
    const facts = {
      projectId,
      storeKey: `${projectId}/0-a`,
      fileName: 'a',
      fileSize: 1,
      mimeType: 'a/b',
      folderId: null,
    };
    const batch = await service.call('POST', '/api/storage/record/batch', {
      key: key.key,
      headers: { traceparent },
      body: { projectId, files: [facts] },
    });
    expect(batch.body.results).toMatchObject([{ problem: { code: 'invalid_store_key', traceId } }]);
    expect((await service.call('GET', '/api/storage/list')).body).not.toHaveProperty('traceId');
    const malformed = await service.call('GET', '/api/storage/list', { headers: { traceparent: `${traceparent}0` } });
    expect(malformed.body).not.toHaveProperty('traceId');
  });

  test('has its line in the log with the id, the project and the key, and no query', async () => {
    const { traceId, traceparent } = newTrace('00');
    const { headers } = await service.call('GET', `/api/storage/list?projectId=${projectId}&search=secret-name`, {
      key: key.key,
      headers: { traceparent },
    });
    const [line, ...more] = linesWith(traceId);
    expect(more).toEqual([]);
    expect(line).toMatchObject({
      requestId: headers.get('x-request-id'),
      traceId,
      operation: 'list',
      status: 200,
      ms: expect.any(Number),
      projectId,
      keyId: key.id,
    });
    expect(service.logged()).not.toContain('secret-name');
  });

  test('takes the project of the key when it names none, and of the path when that is one', async () => {
    const first = newTrace('00');
    await service.call('GET', '/api/storage/key', { key: key.key, headers: first });
    expect(linesWith(first.traceId)).toMatchObject([{ projectId, keyId: key.id }]);
    const second = newTrace('00');
    await service.call('GET', `/api/projects/${projectId}/members`, { as: ada, headers: second });
    expect(linesWith(second.traceId)).toMatchObject([{ projectId }]);
    const third = newTrace('00');
    await service.call('GET', '/api/projects/cz_live_something/members', { as: ada, headers: third });
    expect(linesWith(third.traceId)[0]).not.toHaveProperty('projectId');
  });

  test('carries it to the store, unsigned and not sampled, and makes no span', async () => {
    const { traceId, traceparent } = newTrace('00');
    const recordable = await service.upload({ key: key.key }, projectId, Buffer.from('a'));
    atStore.length = 0;
    expect((await post('/api/storage/record', recordable, { traceparent })).status).toBe(200);
    expect(atStore.length).toBeGreaterThan(0);
    for (const headers of atStore) {
      expect(parseTraceparent(String(headers.traceparent))).toMatchObject({ traceId, isSampled: false });
      expect(headers.authorization).toMatch(/SignedHeaders=/);
      expect(headers.authorization).not.toContain('traceparent');
    }
    expect(exporter.getFinishedSpans()).toEqual([]);
  });

  test('gets an address without a trace of it', async () => {
    const body = { projectId, fileName: 'a.txt', mimeType: 'text/plain', fileSize: 1, folderId: null };
    const { traceId, traceparent } = newTrace('01');
    const answer = await post('/api/storage/presign', body, { traceparent });
    const { presignedUrl } = (await answer.json()) as { presignedUrl: string };
    expect(presignedUrl).not.toContain(traceId);
    expect(new URL(presignedUrl).searchParams.get('X-Amz-SignedHeaders')).toBe('content-length;host');
    expect((await fetch(presignedUrl, { method: 'PUT', body: 'a' })).status).toBe(200);
  });
});

test('a request without one carries nothing to the store', async () => {
  const recordable = await service.upload({ key: key.key }, projectId, Buffer.from('a'));
  expect((await post('/api/storage/record', recordable, {})).status).toBe(200);
  expect(atStore.length).toBeGreaterThan(0);
  for (const headers of atStore) expect(headers).not.toHaveProperty('traceparent');
});

describe('a recorded request', () => {
  test('has a span for itself, for each request to the store, and for its statements', async () => {
    const { traceId, traceparent } = newTrace('01');
    const recordable = await service.upload({ key: key.key }, projectId, Buffer.from('a'));
    expect((await post('/api/storage/record', recordable, { traceparent })).status).toBe(200);
    const paths = pathsOf(traceId);
    expect(paths).toContain('record');
    expect(paths).toContain('record > insert files together');
    expect(paths.filter((path) => path.startsWith('record > store '))).toHaveLength(atStore.length);
    // The store continues from the very span of the request to it.
    const spans = exporter.getFinishedSpans().filter(({ name }) => name.startsWith('store '));
    expect(atStore.map(({ traceparent }) => traceparent).sort()).toEqual(
      spans.map((span) => `00-${traceId}-${span.spanContext().spanId}-01`).sort(),
    );
    expect(spans[0]?.attributes).toMatchObject({ 'http.response.status_code': expect.any(Number) });
    const [whole] = exporter.getFinishedSpans().filter(({ name }) => name === 'record');
    expect(whole?.attributes).toMatchObject({
      'http.response.status_code': 200,
      'cadiz.request_id': expect.any(String),
    });
    expect(whole?.parentSpanContext?.spanId).toBe('00f067aa0ba902b7');
  });

  test('names statements, also within transactions and for listings, and tells nothing of their values', async () => {
    const { traceId, traceparent } = newTrace('01');
    const body = { projectId, name: 'Secret folder', parentId: null };
    const made = await service.call('POST', '/api/storage/folders', { key: key.key, headers: { traceparent }, body });
    await service.call('GET', `/api/storage/list?projectId=${projectId}&limit=1&search=Secret`, {
      key: key.key,
      headers: { traceparent },
    });
    expect(made.status).toBe(200);
    const paths = pathsOf(traceId);
    expect(paths).toContain('createFolder > database begin');
    expect(paths).toContain('createFolder > database insert folders');
    expect(paths).toContain('createFolder > database commit');
    expect(paths.some((path) => path.startsWith('list > database list'))).toBe(true);
    expect(JSON.stringify(exporter.getFinishedSpans().map(({ name, attributes }) => [name, attributes]))).not.toMatch(
      /Secret|[\w-]{24}$/m,
    );
  });

  test('is an error if the service failed, and not if the client did', async () => {
    const { traceId, traceparent } = newTrace('01');
    await service.call('GET', '/api/storage/list', { headers: { traceparent } });
    const objects = createS3Store({ ...service.deps.storeSettings, endpoint: 'http://127.0.0.1:1' }, service.deps.now);
    const away = createApp({ ...service.deps, objects });
    const recordable = await service.upload({ key: key.key }, projectId, Buffer.from('a'));
    const answer = await away.fetch(
      new Request('http://localhost/api/storage/record', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key.key}`, traceparent },
        body: JSON.stringify(recordable),
      }),
    );
    expect(answer.status).toBe(503);
    const errors = exporter.getFinishedSpans().map(({ name, attributes }) => [name, attributes['error.type']]);
    expect(pathsOf(traceId)).toContain('list');
    expect(errors).toContainEqual(['list', undefined]);
    expect(errors).toContainEqual(['record', 'store_unavailable']);
    expect(linesWith(traceId)).toContainEqual(
      expect.objectContaining({
        operation: 'record',
        status: 503,
        code: 'store_unavailable',
        projectId,
        keyId: key.id,
      }),
    );
  });

  test('sees an archive to its end', async () => {
    await service.upload({ key: key.key }, projectId, Buffer.from('a'));
    const { body } = await service.call('POST', '/api/storage/archives', { key: key.key, body: { projectId } });
    const { traceId, traceparent } = newTrace('01');
    const answer = await app.fetch(new Request(body.url, { headers: { traceparent } }));
    expect(answer.status).toBe(200);
    expect(pathsOf(traceId)).not.toContain('downloadArchive > archive');
    await answer.arrayBuffer();
    await expect.poll(() => pathsOf(traceId)).toContain('downloadArchive > archive');
    expect(pathsOf(traceId)).toContain('downloadArchive > archive > store GET');
  });
});

describe('with a ratio, what the service does by itself has traces of its own:', () => {
  const namesOf = () => exporter.getFinishedSpans().map(({ name }) => name);

  test('a job, with its statements', async () => {
    ratio = 1;
    const job = createJobs(service.deps).find(({ name }) => name === 'expired');
    await job?.run(new AbortController().signal, () => undefined);
    const [one] = exporter.getFinishedSpans();
    const paths = pathsOf(one?.spanContext().traceId ?? '');
    expect(paths).toContain('job expired');
    expect(paths.some((path) => path.startsWith('job expired > database '))).toBe(true);
    ratio = 0;
    exporter.reset();
    await job?.run(new AbortController().signal, () => undefined);
    expect(namesOf()).toEqual([]);
  });

  test('a look at an image', async () => {
    const picture = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#888' } })
      .png()
      .toBuffer();
    const recordable = await service.upload({ key: key.key }, projectId, picture, {
      fileName: 'a.png',
      mimeType: 'image/png',
    });
    expect((await post('/api/storage/record', recordable, {})).status).toBe(200);
    exporter.reset();
    ratio = 1;
    await drainWork(service, ['image']);
    ratio = 0;
    const works = exporter.getFinishedSpans().filter(({ name }) => name === 'work image');
    expect(works.flatMap((work) => pathsOf(work.spanContext().traceId))).toContain('work image > image look');
  });
});
