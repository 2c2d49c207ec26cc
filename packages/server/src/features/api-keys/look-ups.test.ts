import { expect, test } from 'vitest';
import { createLookUps } from './look-ups.ts';

/** A database that answers when it is told to. */
function createAsked() {
  const statements: { hashes: string[]; answer: () => void; fail: (error: Error) => void }[] = [];
  const ask = (hashes: string[]) =>
    new Promise<Map<string, string>>((resolve, reject) => {
      const answer = () => resolve(new Map(hashes.filter((hash) => hash !== 'absent').map((hash) => [hash, hash])));
      statements.push({ hashes, answer, fail: reject });
    });
  return { statements, ask };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('one statement is under way at a time, and what comes meanwhile goes together into the next', async () => {
  const { statements, ask } = createAsked();
  const lookUps = createLookUps(ask);
  const first = lookUps.find('a');
  const others = ['b', 'absent', 'b'].map((hash) => lookUps.find(hash));
  expect(statements.map(({ hashes }) => hashes)).toEqual([['a']]);
  statements[0]?.answer();
  expect(await first).toBe('a');
  await settled();
  expect(statements.map(({ hashes }) => hashes)).toEqual([['a'], ['b', 'absent']]);
  statements[1]?.answer();
  expect(await Promise.all(others)).toEqual(['b', undefined, 'b']);
});

test('who asks after a statement was sent is not given its answer', async () => {
  const { statements, ask } = createAsked();
  const lookUps = createLookUps(ask);
  void lookUps.find('a');
  const later = lookUps.find('a');
  statements[0]?.answer();
  await settled();
  expect(statements).toHaveLength(2);
  statements[1]?.answer();
  expect(await later).toBe('a');
});

test('a statement that fails fails for those who wait for it, and the next is sent', async () => {
  const { statements, ask } = createAsked();
  const lookUps = createLookUps(ask);
  const first = lookUps.find('a');
  const second = lookUps.find('b');
  statements[0]?.fail(new Error('away'));
  await expect(first).rejects.toThrow('away');
  await settled();
  statements[1]?.answer();
  expect(await second).toBe('b');
});

test('a flood is a few statements, and ends where ten thousand wait', async () => {
  const { statements, ask } = createAsked();
  const lookUps = createLookUps(ask);
  const flood = Array.from({ length: 10_001 }, (_, index) => lookUps.find(`h${index}`));
  expect(() => lookUps.find('one more')).toThrow(expect.objectContaining({ code: 'rate_limited' }));
  for (let sent = 0; sent < 11; sent += 1) {
    statements[sent]?.answer();
    await settled();
  }
  expect(await Promise.all(flood)).toHaveLength(10_001);
  expect(statements.map(({ hashes }) => hashes.length)).toEqual([1, ...Array.from({ length: 10 }, () => 1000)]);
});
