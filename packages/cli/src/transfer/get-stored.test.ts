import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { getStored } from './get-stored.ts';

const stored = gzipSync('hello hello hello');
const server = createServer((request, response) => {
  const { url, headers } = request;
  if (url === '/elsewhere') return response.writeHead(307, { location: '/object' }).end('Go there.');
  if (url === '/loop') return response.writeHead(302, { location: '/loop' }).end();
  if (url === '/empty') return response.writeHead(204).end();
  if (url === '/endless') return response.writeHead(200).write('It goes on.');
  response.writeHead(headers.range ? 206 : 200, {
    'content-encoding': 'gzip',
    etag: '"e"',
    'x-asked': `${headers.range}`,
  });
  response.end(headers.range ? stored.subarray(5) : stored);
});
let origin: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer());

test.each(['/object', '/elsewhere'])('%s is got as it is stored, whole or in part', async (path) => {
  const whole = await getStored(origin + path, {});
  expect([whole.status, whole.headers.get('etag')]).toEqual([200, '"e"']);
  expect(stored.equals(await bytesOf(whole))).toBe(true);
  const part = await getStored(origin + path, { range: 'bytes=5-' });
  expect([part.status, part.headers.get('x-asked')]).toEqual([206, 'bytes=5-']);
  expect(stored.subarray(5).equals(await bytesOf(part))).toBe(true);
});

test('redirects have an end, and credentials do not go elsewhere', async () => {
  expect((await getStored(`${origin}/loop`, {})).status).toBe(302);
  expect((await getStored(`${origin}/elsewhere`, { authorization: 'a' })).status).toBe(307);
});

test('an answer that nobody reads closes its connection', async () => {
  const closed = new Promise((resolve) => server.once('request', (_, response) => response.once('close', resolve)));
  const answer = await getStored(`${origin}/endless`, {});
  await answer.body?.cancel();
  await closed;
});

test('what no answer can be, or no server answers, fails as a fetch', async () => {
  await expect(getStored(`${origin}/empty`, {})).rejects.toThrow(TypeError);
  await expect(getStored('http://127.0.0.1:1/', {})).rejects.toThrow('fetch failed');
  await expect(getStored(`${origin}/object`, {}, AbortSignal.abort())).rejects.toThrow(TypeError);
});
