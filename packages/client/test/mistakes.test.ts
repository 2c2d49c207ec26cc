import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { type CadizError, type Client, createClient, createTicketHandler, isCadizError } from '@cadiz/client';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { id, type Stub, startStub } from './stub.ts';

let stub: Stub;
beforeEach(async () => {
  stub = await startStub();
});
afterEach(() => stub.close());

type Options = Parameters<typeof createClient>[0];
const unsafe = <T>(value: unknown) => value as T;

async function errorOf(run: () => unknown): Promise<CadizError> {
  try {
    await run();
  } catch (error) {
    if (!isCadizError(error)) throw error;
    return error;
  }
  throw new Error('It has not failed.');
}

const mistakes: [string, Partial<Options>][] = [
  ['a key with an ellipsis', { apiKey: 'cz_live_ab…yz' }],
  ['a key with a line break', { apiKey: 'cz_live_a\nb' }],
  ['a timeout without end', { timeout: Number.POSITIVE_INFINITY }],
  ['a negative timeout', { timeout: -1 }],
  ['a URL without a colon', { baseUrl: 'http//x' }],
  ['a URL without a scheme', { baseUrl: 'localhost:4000' }],
  ['a URL with a password', { baseUrl: 'http://ada:cz_live_a@cadiz.test' }],
  ['a URL with a query', { baseUrl: 'http://cadiz.test/?project=1' }],
  ['a URL with a fragment', { baseUrl: 'http://cadiz.test/#files' }],
  [
    'a function that throws',
    {
      apiKey: () => {
        throw new Error('The vault is closed.');
      },
    },
  ],
];

describe('what a caller has given wrong', () => {
  test.each(mistakes)('is told at once: %s', async (_, options) => {
    let attempts = 0;
    const counted: typeof fetch = async () => {
      attempts++;
      throw new TypeError('fetch failed');
    };
    const error = await errorOf(() => stub.client({ ...options, fetch: counted }).files.get(id));
    expect(error).toMatchObject({ code: 'invalid_argument', retryable: false });
    expect(attempts).toBe(0);
    expect(`${error.stack} ${error.cause}`).not.toMatch(/cz_live_a/);
  });

  test.each([undefined, ''])('is told of a key that is not set: %j', async (apiKey) => {
    const { code, message } = await errorOf(() => stub.client({ apiKey }));
    expect([code, message]).toEqual(['invalid_argument', expect.stringContaining('not undefined or empty')]);
  });

  test('is told of metadata that cannot be sent', async () => {
    const metadata = unsafe<Record<string, string>>({ n: 1n });
    expect(await errorOf(() => stub.client().files.update(id, { metadata }))).toMatchObject({
      code: 'invalid_argument',
    });
  });

  test.each([0, Number.NaN, -1])('is told of so many at a time: %s', async (concurrency) => {
    expect(await errorOf(() => stub.client({ concurrency }))).toMatchObject({ code: 'invalid_argument' });
    const large = stub.client({ partsFrom: 1 });
    expect(await errorOf(() => large.upload('x', { name: 'x', concurrency }))).toMatchObject({
      code: 'invalid_argument',
    });
  });

  test('does not show a secret', async () => {
    for (const key of [{ apiKey: 'cz_live_secret' }, ['cz_live_secret'], 7, undefined]) {
      const error = await errorOf(() => stub.client({ apiKey: unsafe(async () => key) }).files.get(id));
      expect(error).toMatchObject({ code: 'invalid_argument' });
      expect(String(error.stack)).not.toContain('cz_live_secret');
    }
  });

  test.each<[string, (cadiz: Client) => unknown, string]>([
    ['createClient()', () => createClient(unsafe(undefined)), 'invalid_argument'],
    ['request({})', (cadiz) => cadiz.request(unsafe({})), 'invalid_argument'],
    ['uploads.create([null])', (cadiz) => cadiz.uploads.create(unsafe([null])), 'invalid_argument'],
    ["uploads.create(['x'])", (cadiz) => cadiz.uploads.create(unsafe(['x'])), 'invalid_argument'],
    ['upload(null)', (cadiz) => cadiz.upload(unsafe(null)), 'invalid_argument'],
    ["upload('x', null)", (cadiz) => cadiz.upload('x', unsafe(null)), 'invalid_argument'],
  ])('is a CadizError: %s', async (_, run, code) => {
    expect(await errorOf(() => run(stub.client()))).toMatchObject({ code });
    expect(stub.asked).toEqual([]);
  });

  test('is told of a stream of Node, which is not taken', async () => {
    const error = await errorOf(() => stub.client().upload(unsafe(Readable.from(['x'])), { name: 'x' }));
    expect(error).toMatchObject({ code: 'invalid_argument', message: expect.stringContaining('web stream') });
  });

  test.each([new File(['x'], 'x'), {}, 3, null])('is no list of files for a queue: %o', (files) => {
    const cadiz = stub.client();
    expect(() => cadiz.uploads.create(unsafe(files))).toThrow(TypeError);
    expect(() => cadiz.uploads.create().add(unsafe(files))).toThrow(TypeError);
  });

  test('is left to the service: deleteMany()', async () => {
    await stub.client().files.deleteMany(unsafe(undefined));
    expect(stub.bodies).toEqual([{ projectId: id, action: 'delete' }]);
  });
});

test.each([
  ['cz_live_x', 'http://cadiz.test/'],
  ['cz_live_x\n', 'http://cadiz.test'],
])('a URL may be an object: %j, %s', async (apiKey, baseUrl) => {
  expect(await stub.client({ baseUrl: new URL(baseUrl), apiKey }).files.get(id)).toEqual({});
});

test.each([id, undefined])(
  'a function for the ticket is called again after a failure that may pass: project %s',
  async (projectId) => {
    let calls = 0;
    const ticket = async () => {
      if (++calls === 1) throw new TypeError('fetch failed');
      return { ticket: 'cz_ticket_x', projectId: id, folderId: null };
    };
    const cadiz = stub.client({ apiKey: undefined, ticket, projectId });
    expect(await cadiz.upload('x', { name: 'x' })).toMatchObject({ id: 'file', projectId: id });
    expect(calls).toBe(2);
  },
);

const streamOf = (start: (controller: ReadableStreamDefaultController) => void) => new ReadableStream({ start });

test.each<[string, () => ReadableStream]>([
  ['one that breaks', () => streamOf((controller) => controller.error(new Error('gone')))],
  [
    'one that is being read',
    () => {
      const stream = streamOf((controller) => controller.close());
      stream.getReader();
      return stream;
    },
  ],
  [
    'one of strings',
    () =>
      streamOf((controller) => {
        controller.enqueue('x');
        controller.close();
      }),
  ],
])('a stream that cannot be read is told: %s', async (_, make) => {
  expect(await errorOf(() => stub.client().upload(make(), { name: 'x' }))).toMatchObject({ code: 'file_unreadable' });
});

describe('download', () => {
  test('says why there are no bytes, and uses the fetch that is given', async () => {
    stub.answers[`/api/storage/files/${id}/url`] = { url: 'http://store.test/f' };
    const broken: typeof fetch = async (input, init) => {
      if (String(input).startsWith('http://store.test/')) throw new TypeError('fetch failed');
      return stub.fetch(input, init);
    };
    const cadiz = stub.client({ fetch: broken, retries: 0 });
    expect(await errorOf(() => cadiz.files.download(id))).toMatchObject({ code: 'network_failed', retryable: true });
    const signal = AbortSignal.abort();
    expect(await errorOf(() => cadiz.files.download(id, { signal }))).toMatchObject({ code: 'aborted' });
    expect(await (await stub.client().files.download(id)).json()).toEqual({});
  });
});

test('a page of a list that nobody waits for is not asked for', async () => {
  const signal = AbortSignal.abort();
  expect(await errorOf(() => stub.client().trash.page({ signal }))).toMatchObject({ code: 'aborted' });
  expect(stub.asked).toEqual([]);
});

test.each([
  [undefined, 30],
  [10_000, 5],
  [500, 1],
])('events are waited for within the timeout of %s', async (timeout, wait) => {
  stub.answers['/api/storage/events'] = { events: [{ seq: 1 }], cursor: '1' };
  for await (const _ of stub.client({ timeout }).events.follow({ after: 0 })) break;
  expect(stub.asked).toEqual([expect.stringContaining(`wait=${wait}&`)]);
});

test('a URL that redirects to another origin is told, with where it leads', async () => {
  const listen = async (answer: http.RequestListener) => {
    const server = http.createServer(answer);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  };
  const problem = {
    code: 'invalid_api_key',
    title: 'No',
    detail: 'No',
    status: 401,
    requestId: 'r',
    type: 'about:blank',
  };
  const there = await listen((_, response) =>
    response.writeHead(401, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem)),
  );
  const here = await listen(({ url = '' }, response) => {
    if (url.startsWith('/api/new')) response.writeHead(200, { 'content-type': 'application/json' }).end('{"new":true}');
    else response.writeHead(302, { location: url === '/api/old' ? '/api/new' : there.url + url }).end();
  });
  try {
    const cadiz = createClient({ baseUrl: here.url, projectId: id, apiKey: 'cz_live_x', retries: 0 });
    const error = await errorOf(() => cadiz.files.get(id));
    expect(error).toMatchObject({ code: 'unexpected_answer', message: expect.stringContaining(there.url) });
    // Within an origin, the key goes along.
    expect(await cadiz.request({ path: '/api/old' })).toEqual({ new: true });
  } finally {
    for (const { server } of [here, there]) {
      server.closeAllConnections();
      server.close();
    }
  }
});

test('a problem that a gateway answers is no answer of the service, and is retried like any other 503', async () => {
  let attempts = 0;
  const answering =
    (status: number, body: string): typeof fetch =>
    async () => {
      attempts++;
      return new Response(body, { status, headers: { 'content-type': 'application/problem+json' } });
    };
  const ask = (fetch: typeof globalThis.fetch) => errorOf(() => stub.client({ fetch, retries: 1 }).files.get(id));
  const unavailable = '{ "type": "about:blank", "title": "No healthy upstream" }';
  expect(await ask(answering(503, unavailable))).toMatchObject({
    code: 'unexpected_answer',
    status: 503,
    retryable: true,
    message: expect.stringContaining('No healthy upstream'),
  });
  expect(attempts).toBe(2);
  for (const body of ['{ "title": "Blocked", "code": 17 }', '[]', '"no"', 'null'])
    expect(await ask(answering(403, body))).toMatchObject({
      code: 'unexpected_answer',
      status: 403,
      retryable: false,
      message: expect.stringContaining(body),
    });
  for (const body of ['"no"', 'true', '17'])
    expect(await ask(answering(200, body))).toMatchObject({ code: 'unexpected_answer', status: 200 });
});

test('a key that is refused is not sent again where there is no other', async () => {
  let attempts = 0;
  const refusing: typeof fetch = async () => {
    attempts++;
    return Response.json(
      { code: 'invalid_api_key', title: 'Invalid API key' },
      { status: 401, headers: { 'content-type': 'application/problem+json' } },
    );
  };
  for (const apiKey of ['cz_live_x', () => 'cz_live_x']) {
    attempts = 0;
    const error = await errorOf(() => stub.client({ apiKey, fetch: refusing }).files.get(id));
    expect([error.code, attempts]).toEqual(['invalid_api_key', 1]);
  }
});

test('what the service asks to wait is waited, up to five minutes; more is told at once', async () => {
  const waits: number[] = [];
  const { setTimeout: wait } = globalThis;
  const waiting = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, milliseconds: number) => {
    waits.push(milliseconds);
    return wait(run, 0);
  }) as typeof setTimeout);
  onTestFinished(() => waiting.mockRestore());
  let attempts = 0;
  const busy =
    (seconds: number): typeof fetch =>
    async (input, init) => {
      attempts++;
      if (attempts > 1) return stub.fetch(input, init);
      return new Response('busy', { status: 503, headers: { 'retry-after': `${seconds}` } });
    };
  expect(await stub.client({ fetch: busy(300) }).files.get(id)).toEqual({});
  expect([attempts, Math.max(...waits) >= 300_000]).toEqual([2, true]);
  attempts = 0;
  const error = await errorOf(() => stub.client({ fetch: busy(301) }).files.get(id));
  expect([attempts, error.retryAfter]).toEqual([1, 301]);
});

test('an answer that is cut off, and framed as if it were whole, is a broken connection', async () => {
  let attempts = 0;
  const cut: typeof fetch = async () => {
    attempts++;
    return new Response('{"files":[{"id":"01a1', { headers: { 'content-type': 'application/json' } });
  };
  const cadiz = stub.client({ fetch: cut, retries: 1 });
  const broken = { code: 'network_failed', retryable: true, cause: expect.any(SyntaxError) };
  expect(await errorOf(() => cadiz.files.get(id))).toMatchObject(broken);
  expect(attempts).toBe(2);
  expect(await errorOf(() => cadiz.request({ method: 'POST', path: '/api/projects' }))).toMatchObject(broken);
  expect(attempts, 'what would be done twice is not repeated').toBe(3);
});

test('a ticket is given to POST only', async () => {
  let isAsked = false;
  const handle = createTicketHandler({
    baseUrl: 'http://cadiz.test',
    projectId: id,
    apiKey: 'cz_live_x',
    fetch: stub.fetch,
    authorize() {
      isAsked = true;
      return { maxFiles: 1, maxBytes: 1 };
    },
  });
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']) {
    const answer = await handle(new Request('http://app.test/api/upload-ticket', { method }));
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
  }
  expect([isAsked, stub.asked]).toEqual([false, []]);
  expect((await handle(new Request('http://app.test/api/upload-ticket', { method: 'POST' }))).status).toBe(200);
});

test('what may be missing may also be undefined, and bytes are bytes', () => {
  const maybe = undefined as string | undefined;
  // Compiled under `strict` and `exactOptionalPropertyTypes`; not run.
  const use = (cadiz: Client, bytes: Uint8Array) => [
    cadiz.upload(bytes, { name: maybe, folder: maybe, metadata: undefined, signal: undefined, onProgress: undefined }),
    cadiz.files.page({ folder: maybe, search: maybe, limit: undefined, cursor: undefined }),
    cadiz.files.list({ folder: maybe }),
    cadiz.files.url(id, { expiresIn: undefined, disposition: undefined, image: undefined }),
    cadiz.tickets.create({ folder: maybe, maxFiles: 1, maxBytes: 1 }),
  ];
  expect(use).toBeTypeOf('function');
});
