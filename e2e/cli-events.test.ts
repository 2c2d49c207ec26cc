import type { ChildProcess } from 'node:child_process';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createClient, type Event } from '@cadiz/client';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Receiver, startReceiver } from '../packages/server/test/receiver.ts';
import { type Ended, startWorkplace, type Workplace } from './cli.ts';
import { startFaultProxy } from './fault-proxy.ts';

let place: Workplace;
beforeAll(async () => {
  place = await startWorkplace();
});
afterAll(() => place.close());

const client = () => createClient({ baseUrl: place.service.url, apiKey: place.apiKey });
const lines = ({ stdout }: Ended): string[] => stdout.split('\n').filter(Boolean);
const names = (ended: Ended) => lines(ended).map((line) => JSON.parse(line).data.fileName);

/** Runs a command until what it has written satisfies, and then presses Ctrl-C, or sends another signal. */
function until(
  args: string[],
  isEnough: (words: string) => boolean,
  env: Record<string, string> = {},
  signal: NodeJS.Signals = 'SIGINT',
): Promise<Ended> {
  const onWords = (words: string, child: ChildProcess) => {
    if (isEnough(words)) child.kill(signal);
  };
  return place.spawn(args, { onWords, env });
}

describe('cadiz events', () => {
  test('prints what has happened: since a number, since a time, of some types', async () => {
    await client().upload('x', { name: 'one.txt' });
    await new Promise((resolve) => setTimeout(resolve, 5));
    const between = new Date().toISOString();
    await client().upload('x', { name: 'two.txt' });
    await client().folders.ensure(['press']);
    const all = await place.ok(['events']);
    expect(lines(all).map((line) => line.split(/ {2,}/).slice(2))).toEqual([
      ['file.created', 'one.txt', expect.stringMatching(/^key …[\da-f]{12}$/)],
      ['file.created', 'two.txt', expect.any(String)],
      ['folder.created', 'press/', expect.any(String)],
    ]);
    const json = lines(await place.ok(['events', '--json'])).map((line): Event => JSON.parse(line));
    expect(json).toEqual((await client().events.page()).events);
    const seq = String(json[0]?.seq);
    expect(names(await place.ok(['events', '--json', '--since', seq, '--type', 'file.created']))).toEqual(['two.txt']);
    expect(lines(await place.ok(['events', '--since', between]))).toHaveLength(2);
    expect(lines(await place.ok(['events', '--since', '1h']))).toHaveLength(3);
    expect(lines(await place.ok(['events', '--since', '2100-01-01']))).toEqual([]);
    expect(lines(await place.ok(['events', '--type', 'file.created,folder.created']))).toHaveLength(3);
  });

  test.each([
    [['--since', 'yesterday'], '--since yesterday must be a number'],
    [['--since', 'May 1'], '--since May 1 must be a number'],
    [['--type', 'file.eaten'], '--type file.eaten is not an event type'],
  ])('%j is refused', async (args, words) => {
    expect(await place.cadiz(['events', ...args])).toMatchObject({ code: 2, stderr: expect.stringContaining(words) });
  });

  test('follows what happens, and says on Ctrl-C how to go on, which misses nothing', async () => {
    const { cursor } = await client().events.page({ after: 'latest' });
    const args = ['events', '--follow', '--json', '--type', 'file.created', '--since', cursor];
    const ended = until(args, (words) => words.includes('four.txt'));
    await client().upload('x', { name: 'three.txt' });
    await client().upload('x', { name: 'four.txt' });
    const { code, stdout, stderr } = await ended;
    expect([code, names({ code, stdout, stderr })]).toEqual([130, ['three.txt', 'four.txt']]);
    const [, next = ''] = /^Go on with: cadiz (events --follow --since \d+ --type file\.created)$/m.exec(stderr) ?? [];
    await client().upload('x', { name: 'five.txt' });
    const again = until([...next.split(' '), '--json'], (words) => words.includes('five.txt'));
    expect(names(await again)).toEqual(['five.txt']);
  });

  test('ends with 143 on SIGTERM, which is no Ctrl-C, and says how to go on as well', async () => {
    const { cursor } = await client().events.page({ after: 'latest' });
    await client().upload('x', { name: 'last.txt' });
    const args = ['events', '--follow', '--since', cursor];
    const { code, stderr } = await until(args, (words) => words.includes('last.txt'), {}, 'SIGTERM');
    expect([code, stderr]).toEqual([143, expect.stringContaining('Go on with: cadiz events --follow --since ')]);
  });

  test('says that the connection is lost, and that it is there again', async () => {
    const proxy = await startFaultProxy(Number(new URL(place.service.url).port));
    try {
      const { cursor } = await client().events.page({ after: 'latest' });
      await client().upload('x', { name: 'six.txt' });
      // The first request asks which project the key is for.
      proxy.break(/GET .*\/events/, 'cut before', 2);
      const args = ['events', '--follow', '--since', cursor];
      const ended = await until(args, (words) => words.includes('six.txt'), { CADIZ_URL: proxy.url });
      expect(ended.stderr).toMatch(
        /^The service cannot be reached\. Trying until it can …\nThe service can be reached again\.$/m,
      );
    } finally {
      await proxy.close();
    }
  });
});

describe('cadiz listen', () => {
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());

  const secretPath = () => join(place.folder, '.config/cadiz/webhook-secret');
  const listen = async (isEnough: (words: string) => boolean, more: string[] = [], env = {}) => {
    const { cursor } = await client().events.page({ after: 'latest' });
    return { ended: until(['listen', '--forward-to', receiver.url, '--since', cursor, ...more], isEnough, env) };
  };

  test('posts what the service posts, signed with a secret that it keeps for its user alone', async () => {
    const { ended } = await listen((words) => words.includes('b.txt'), ['--type', 'file.created']);
    await client().upload('x', { name: 'ä.txt', metadata: { page: 3, ratio: 1.5 } });
    await client().folders.ensure(['left-out']);
    await client().upload('x', { name: 'b.txt' });
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(130);
    expect(stdout).toMatch(/file\.created +ä\.txt {2}204 in \d+ ms\n/);
    expect(stderr).toMatch(/Go on with: cadiz listen --forward-to '\S+' --since \d+ --type file\.created/);
    const secret = (await readFile(secretPath(), 'utf8')).trim();
    expect(stderr).toContain(secret);
    expect((await stat(secretPath())).mode & 0o777).toBe(0o600);
    const { events } = await client().events.page({ types: ['file.created'], limit: 1000 });
    const expected = events.slice(-2).map((event) => ({ timestamp: event.at, ...event }));
    expect(receiver.received.map(({ headers, body }) => new Webhook(secret).verify(body, headers))).toEqual(expected);
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual(expected.map(({ id }) => id));
    // To the byte what the service posts: the text of the feed, after the timestamp.
    const url = `${place.service.url}/api/storage/events?projectId=${place.projectId}`;
    const feed = await (await fetch(url, { headers: { authorization: `Bearer ${place.apiKey}` } })).text();
    for (const { body } of receiver.received) {
      const [, at = '', rest = ''] = /^\{("timestamp":"[^"]+"),(.+)$/.exec(body) ?? [];
      expect([at, feed.includes(`{${rest}`)]).toEqual([`"timestamp":"${JSON.parse(body).at}"`, true]);
    }
  });

  test('goes on after a refusal, and takes the secret of the environment', async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    receiver.answer = (_, count) => ({ status: count === 1 ? 400 : 204 });
    const env = { CADIZ_WEBHOOK_SECRET: secret };
    const { ended } = await listen((words) => words.includes('"status":204'), ['--json'], env);
    await client().upload('x', { name: 'refused.txt' });
    await client().upload('x', { name: 'taken.txt' });
    const outcomes = lines(await ended).map((line) => JSON.parse(line));
    expect(outcomes.map(({ type, status, attempts }) => [type, status, attempts])).toEqual([
      ['file.created', 400, 1],
      ['file.created', 204, 1],
    ]);
    for (const { headers, body } of receiver.received) new Webhook(secret).verify(body, headers);
    expect((await place.cadiz(['listen'])).code).toBe(2);
    expect((await place.cadiz(['listen', '--forward-to', 'localhost:1'])).code).toBe(2);
    const wrong = await place.cadiz(['listen', '--forward-to', receiver.url], { env: { CADIZ_WEBHOOK_SECRET: 'x' } });
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('CADIZ_WEBHOOK_SECRET is no secret')]);
  });

  test('tries again while the receiver is not up, with the stored secret although the variable is empty', async () => {
    const secret = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
    await mkdir(dirname(secretPath()), { recursive: true });
    await writeFile(secretPath(), `${secret}\n`);
    receiver.answer = (_, count) => ({ status: count === 1 ? 503 : 204 });
    const { ended } = await listen((words) => words.includes('"status"'), ['--json'], { CADIZ_WEBHOOK_SECRET: '' });
    await client().upload('x', { name: 'late.txt' });
    expect(JSON.parse((await ended).stdout)).toMatchObject({ status: 204, attempts: 2 });
    const bodies = receiver.received.map(({ body }) => body);
    expect(bodies[1]).toBe(bodies[0]);
    for (const { headers, body } of receiver.received) new Webhook(secret).verify(body, headers);
  });
});

test('types of events are completed', async () => {
  expect((await place.ok(['__complete', 'events', '--type', 'link.'])).stdout).toBe('link.created\nlink.deleted\n');
});
