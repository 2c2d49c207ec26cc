import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { streamBytes } from './stream-bytes.ts';

const log = pino({ level: 'silent' });

async function* endless(): AsyncGenerator<Buffer, void> {
  for (;;) yield Buffer.alloc(10);
}

test('a client that takes nothing for long is cut off, one that takes slowly is not', async () => {
  let closed = 0;
  const reader = streamBytes('A test', endless(), () => (closed += 1), log, 3000).getReader();
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
  const reader = streamBytes('A test', counted(), () => undefined, log).getReader();
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
  async function* short(): AsyncGenerator<Buffer, void> {
    yield Buffer.alloc(1);
  }
  const closed: string[] = [];
  const failed = streamBytes('A test', failing(), () => closed.push('failed'), log).getReader();
  await failed.read();
  await expect(failed.read()).rejects.toThrow('gone');
  const ended = streamBytes('A test', short(), () => closed.push('ended'), log).getReader();
  await ended.read();
  expect((await ended.read()).done).toBe(true);
  await ended.cancel();
  await streamBytes('A test', endless(), () => closed.push('left'), log).cancel();
  expect(closed).toEqual(['failed', 'ended', 'left']);
});
