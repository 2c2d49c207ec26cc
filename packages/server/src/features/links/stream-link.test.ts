import { once } from 'node:events';
import http from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type Library, startLibrary } from '../../../test/library.ts';
import type { Answer } from '../../../test/service.ts';
import { createApp } from '../../http/app.ts';
import { listen } from '../../http/listen.ts';
import { createStreamSlots } from '../../serving/stream-slots.ts';

let library: Library;
let objects: Library['service']['deps']['objects'];
let linkSlots: Library['service']['deps']['linkSlots'];
/** The bodies that were opened at the store. */
let bodies: { destroyed: boolean }[] = [];

beforeAll(async () => {
  library = await startLibrary({ LINKS_STREAM: 'on' });
  ({ objects, linkSlots } = library.service.deps);
  library.service.deps.objects = {
    ...objects,
    async read(...all) {
      const object = await objects.read(...all);
      if (object) bodies.push(object.body);
      return object;
    },
  };
});
afterEach(() => {
  bodies = [];
  library.service.deps.linkSlots = linkSlots;
});
afterAll(() => library.service.close());

const content = 'The quick brown fox jumps over the lazy dog';

async function record(
  bytes: string | Buffer = content,
  mimeType = 'text/plain',
  extras: object = {},
): Promise<Answer['body']> {
  const { service, key, projectId } = library;
  const facts = { fileName: 'fox.txt', mimeType };
  const recording = await service.upload({ key }, projectId, Buffer.from(bytes), facts);
  const { status, body, text } = await library.call('POST', '/api/storage/record', { ...recording, ...extras });
  expect(status, text).toBe(200);
  return body;
}

async function link(fileId: string, more: object = {}): Promise<string> {
  const { body } = await library.call('POST', '/api/storage/links', { fileId, ...more });
  return new URL(body.url).pathname;
}

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  library.service.call(method, path, { headers });

describe('a link that is streamed', () => {
  test('sends the bytes with an ETag, and says that and for how long they may be kept', async () => {
    const { id, etag } = await record();
    const { status, text, headers } = await get(await link(id));
    expect({ status, text }).toEqual({ status: 200, text: content });
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': `${content.length}`,
      'content-disposition': 'inline; filename="fox.txt"',
      'cache-control': 'public, max-age=60, immutable',
      etag: `"${etag}"`,
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'cross-origin',
      'access-control-allow-origin': '*',
    });
  });

  test.each([
    ['text/html', 'application/octet-stream'],
    ['image/svg+xml', 'image/svg+xml'],
    ['application/pdf', 'application/pdf'],
    ['text/javascript', 'application/octet-stream'],
  ])('never shows %s', async (mimeType, served) => {
    const { id } = await record(content, mimeType);
    const { headers } = await get(await link(id, { disposition: 'inline' }));
    expect(headers.get('content-disposition')).toMatch(/^attachment/);
    expect(headers.get('content-type')).toBe(served);
    expect(headers.get('content-security-policy')).toContain('sandbox');
  });

  test.each([
    ['bytes=4-8', 'quick', `bytes 4-8/${content.length}`],
    ['bytes=-3', 'dog', `bytes 40-42/${content.length}`],
    ['bytes=40-1000', 'dog', `bytes 40-42/${content.length}`],
  ])('sends the range %s', async (range, text, contentRange) => {
    const { id } = await record();
    const answer = await get(await link(id), { Range: range });
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 206, text });
    expect(answer.headers.get('content-range')).toBe(contentRange);
    expect(answer.headers.get('content-length')).toBe(`${text.length}`);
  });

  test('refuses a range beyond its end', async () => {
    const { id } = await record();
    const answer = await expectProblem(get(await link(id), { Range: 'bytes=43-' }), 416, 'range_not_satisfiable');
    expect(answer.headers.get('content-range')).toBe('bytes */43');
    expect(bodies).toEqual([]);
  });

  test('sends nothing to whoever has it, or asks with HEAD', async () => {
    const { id, etag } = await record();
    const path = await link(id);
    const unchanged = await get(path, { 'If-None-Match': `"${etag}"` });
    expect({ status: unchanged.status, text: unchanged.text }).toEqual({ status: 304, text: '' });
    expect(unchanged.headers.get('etag')).toBe(`"${etag}"`);
    const head = await library.service.fetch(new Request(`http://localhost:4000${path}`, { method: 'HEAD' }));
    expect({ status: head.status, length: head.headers.get('content-length') }).toEqual({ status: 200, length: '43' });
    await expectProblem(get(path, { 'If-Match': '"another"', Range: 'bytes=0-1' }), 412, 'precondition_failed');
    expect((await get(path, { 'If-None-Match': '"another"' })).status).toBe(200);
    expect((await get(path, { Range: 'bytes=0-1', 'If-Range': '"another"' })).status).toBe(200);
    expect((await get(path, { Range: 'bytes=0-1', 'If-Range': `"${etag}"` })).status).toBe(206);
    expect(bodies).toHaveLength(3);
  });

  test('sends an empty file', async () => {
    const { id } = await record('');
    const { status, text, headers } = await get(await link(id));
    expect({ status, text, length: headers.get('content-length') }).toEqual({ status: 200, text: '', length: '0' });
  });

  test('has another ETag once its file is replaced, and is 404 once it is in the trash', async () => {
    const before = await record();
    const path = await link(before.id);
    const after = await record('new bytes', 'text/plain', { replaces: before.id });
    expect(after.etag).not.toBe(before.etag);
    expect((await get(path, { 'If-None-Match': `"${before.etag}"` })).text).toBe('new bytes');
    await library.call('DELETE', `/api/storage/files/${after.id}`);
    await expectProblem(get(path), 404, 'link_not_found');
  });

  test('is 404 if the object is gone', async () => {
    const { id, storeKey } = await record();
    const path = await link(id);
    await objects.remove([storeKey]);
    await expectProblem(get(path), 404, 'link_not_found');
  });

  test('gets no slot if too many are being sent', async () => {
    const { id } = await record();
    const path = await link(id);
    library.service.deps.linkSlots = createStreamSlots(2, 'links_busy', library.service.deps.now, 0);
    const never = new AbortController().signal;
    const slots = await Promise.all(
      [1, 2].map((n) => library.service.deps.linkSlots.take([`address ${n}`, `project ${n}`], never)),
    );
    const { headers } = await expectProblem(get(path), 503, 'links_busy');
    expect(headers.get('retry-after')).toBe('5');
    // Anybody can cause this, so it is a warning of one short line.
    const lines = library.service.logged().trim().split('\n');
    const { level, error } = JSON.parse(lines.find((line) => line.includes(headers.get('x-request-id') ?? '')) ?? '');
    expect([level, error]).toEqual([40, undefined]);
    for (const slot of slots) slot.leave();
    expect((await get(path)).status).toBe(200);
    expect((await get(path)).status).toBe(200);
  });
});

describe('over the wire', () => {
  const size = 64 * 1024 * 1024;
  let path: string;
  let id: string;
  let server: Awaited<ReturnType<typeof listen>>;
  let port: number;

  beforeAll(async () => {
    ({ id } = await record(Buffer.alloc(size, 'x'), 'application/zip'));
    path = await link(id);
    server = await listen(createApp(library.service.deps), '127.0.0.1', 0);
    port = server.port;
  });
  afterAll(() => server.close(0));

  async function begin(): Promise<http.IncomingMessage> {
    const request = http.get({ host: '127.0.0.1', port, path, agent: false });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    response.on('error', () => undefined);
    return response;
  }

  test('the whole file arrives', async () => {
    const response = await begin();
    let received = 0;
    for await (const piece of response) received += (piece as Buffer).length;
    expect(received).toBe(size);
    await expect.poll(() => bodies.every(({ destroyed }) => destroyed)).toBe(true);
  });

  test('a client that leaves ends the read from the store, and frees its slot', async () => {
    library.service.deps.linkSlots = createStreamSlots(1, 'links_busy', library.service.deps.now, 0);
    const response = await begin();
    await once(response, 'readable');
    expect(bodies.map(({ destroyed }) => destroyed)).toEqual([false]);
    response.destroy();
    await expect.poll(() => bodies[0]?.destroyed).toBe(true);
    await expect.poll(async () => (await get(path, { Range: 'bytes=0-0' })).status).toBe(206);
  });

  test('a link that is deleted meanwhile breaks off', async () => {
    const response = await begin();
    await once(response, 'readable');
    expect((await library.call('DELETE', `/api/storage/files/${id}`)).status).toBe(200);
    let received = 0;
    // As slowly as it takes for the stream to look again.
    const reading = (async () => {
      for await (const piece of response) {
        received += (piece as Buffer).length;
        if (received > size / 4) await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    await expect(reading).rejects.toThrow(/aborted/);
    expect(received).toBeLessThan(size);
    await expect.poll(() => bodies.every(({ destroyed }) => destroyed)).toBe(true);
    expect((await library.call('POST', `/api/storage/files/${id}/restore`)).status).toBe(200);
  });
});
