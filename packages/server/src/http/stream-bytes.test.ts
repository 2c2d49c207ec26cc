import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { streamBytes } from './stream-bytes.ts';

const log = pino({ level: 'silent' });
const what = 'A test';

async function* endless(): AsyncGenerator<Buffer, void> {
  for (;;) yield Buffer.alloc(10);
}

test('a client that takes nothing for long is cut off, one that takes slowly is not', async () => {
  let closed = 0;
  const reader = streamBytes(endless(), { what, close: () => (closed += 1), log, stallMilliseconds: 3000 }).getReader();
  for (let i = 0; i < 5; i += 1) {
    await reader.read();
    await delay(100);
  }
  expect(closed).toBe(0);
  await expect.poll(() => closed).toBe(1);
  await expect(reader.read()).rejects.toThrow('took nothing for 3 s');
  expect(closed).toBe(1);
});

test('nothing is made ahead of the client', async () => {
  let made = 0;
  async function* counted(): AsyncGenerator<Buffer, void> {
    for (;;) {
      made += 1;
      yield Buffer.alloc(10);
    }
  }
  const reader = streamBytes(counted(), { what, close: () => undefined, log }).getReader();
  await delay(20);
  expect(made).toBe(0);
  await reader.read();
  await delay(20);
  expect(made).toBe(1);
  await reader.cancel();
});

test('the end, a failure and a client that goes close it once', async () => {
  async function* failing(): AsyncGenerator<Buffer, void> {
    yield Buffer.alloc(1);
    throw new Error('gone');
  }
  const closed: string[] = [];
  const failed = streamBytes(failing(), { what, close: () => closed.push('failed'), log }).getReader();
  await failed.read();
  await expect(failed.read()).rejects.toThrow('gone');
  const ended = streamBytes(short(), { what, close: () => closed.push('ended'), log }).getReader();
  await ended.read();
  expect((await ended.read()).done).toBe(true);
  await ended.cancel();
  await streamBytes(endless(), { what, close: () => closed.push('left'), log }).cancel();
  expect(closed).toEqual(['failed', 'ended', 'left']);
});

test('a client that is cut off learns of it even if it reads nothing, and the stream is closed once', async () => {
  const closed: string[] = [];
  const cutOff = new AbortController();
  const close = () => closed.push('cut off');
  const reader = streamBytes(endless(), { what, close, log, cutOff: cutOff.signal }).getReader();
  await reader.read();
  cutOff.abort(new Error('too slow'));
  expect(closed).toEqual(['cut off']);
  await expect(reader.read()).rejects.toThrow('too slow');
  await expect(reader.closed).rejects.toThrow('too slow');
  expect(closed).toEqual(['cut off']);

  const ended = new AbortController();
  const rest = streamBytes(short(), { what, close: () => closed.push('ended'), log, cutOff: ended.signal }).getReader();
  while (!(await rest.read()).done);
  ended.abort(new Error('too late'));
  expect(closed).toEqual(['cut off', 'ended']);
});

async function* short(): AsyncGenerator<Buffer, void> {
  yield Buffer.alloc(1);
}
