import { readdirSync, readlinkSync } from 'node:fs';
import http from 'node:http';
import { connect } from 'node:net';
import { createBoundedServer, inTurn, type Listening, serve } from '@cadiz/http-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSite } from './site.ts';

/** The largest file of the site: more of them than one are more than a connection takes in. */
const reference = '/docs/redoc.standalone.js';
const headers = { Host: 'a' };
let listening: Listening;

beforeAll(async () => {
  const site = createSite([], 'http://localhost:4001');
  const server = createBoundedServer({});
  server.on(
    'request',
    inTurn((request, response) => {
      if (!site(request, response)) response.end(`not of the site: ${request.url} ${request.headers.range}`);
    }),
  );
  listening = await serve(server, '127.0.0.1', 0);
});
afterAll(() => listening.close(0));

interface Got {
  status: number | undefined;
  coding: string | undefined;
  text: string;
}

function get(path: string, more: Record<string, string> = {}): Promise<Got> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: listening.port, path, headers: { ...headers, ...more }, agent: false };
    const request = http.get(options, async (response) => {
      let text = '';
      for await (const piece of response.setEncoding('utf8')) text += piece;
      resolve({ status: response.statusCode, coding: response.headers['content-encoding'], text });
    });
    request.on('error', reject);
  });
}

test.each(['bytes=5-2', 'bytes=0-9', 'bytes=-5', 'bytes=x', 'bytes=99999999-'])(
  'a file is sent whole to a request for %s',
  async (Range) => {
    expect(await get('/docs', { Range })).toEqual(await get('/docs'));
    expect(await get('/', { Range })).toMatchObject({ status: 200, text: expect.stringMatching(/<\/html>\s*$/) });
  },
);

test.each([
  ['gzip, br', 'br'],
  ['gzip;q=0.5, deflate', 'gzip'],
  ['gzip;q=1.0, br;q=0', 'gzip'],
  ['gzip; q=0.000, br ;q=0', undefined],
  ['', undefined],
])('a file is sent in no coding that is refused: %s', async (accepted, coding) => {
  expect(await get('/', { 'Accept-Encoding': accepted })).toMatchObject({ status: 200, coding });
});

test('a range of what is not of the site is left to others', async () => {
  const { text } = await get('/l/token/name', { Range: 'bytes=0-9' });
  expect(text).toBe('not of the site: /l/token/name bytes=0-9');
});

/** Files of the site that this process has open. */
function openFiles(): string[] {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // Closed meanwhile.
      return '';
    }
  });
  return targets.filter((target) => target.includes('/dist/site/'));
}

test('a file is closed when its client leaves before its end', async () => {
  const socket = connect(listening.port, '127.0.0.1').pause();
  socket.write(`GET ${reference} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(50));
  await expect.poll(openFiles).toHaveLength(1);
  socket.destroy();
  await expect.poll(openFiles).toEqual([]);
});
