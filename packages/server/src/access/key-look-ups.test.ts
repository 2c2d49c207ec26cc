import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLookUps } from './key-look-ups.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** A database that answers when the test says so. */
function createAsked() {
  const statements: { hashes: string[]; answer: () => void; fail: (error: Error) => void }[] = [];
  const ask = (hashes: string[]) =>
    new Promise<Map<string, string>>((resolve, reject) => {
      const answer = () => resolve(new Map(hashes.filter((hash) => hash !== 'absent').map((hash) => [hash, hash])));
      statements.push({ hashes, answer, fail: reject });
    });
  return { statements, lookUps: createLookUps(ask, 100) };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('look-ups that arrive close together share one statement', async () => {
  const { statements, lookUps } = createAsked();
  const first = lookUps.find('a');
  vi.advanceTimersByTime(99);
  const others = ['b', 'absent', 'b'].map((hash) => lookUps.find(hash));
  expect(statements).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(statements.map(({ hashes }) => hashes)).toEqual([['a', 'b', 'absent']]);
  statements[0]?.answer();
  expect(await Promise.all([first, ...others])).toEqual(['a', 'b', undefined, 'b']);
});

test('a look-up that arrives after a statement was sent gets its own, which does not wait for the first', async () => {
  const { statements, lookUps } = createAsked();
  void lookUps.find('a');
  vi.advanceTimersByTime(100);
  const later = lookUps.find('a');
  vi.advanceTimersByTime(100);
  expect(statements).toHaveLength(2);
  statements[1]?.answer();
  expect(await later).toBe('a');
});

test('a failed statement fails only the look-ups that wait for it', async () => {
  const { statements, lookUps } = createAsked();
  const first = lookUps.find('a');
  vi.advanceTimersByTime(100);
  const second = lookUps.find('b');
  vi.advanceTimersByTime(100);
  statements[0]?.fail(new Error('away'));
  statements[1]?.answer();
  await expect(first).rejects.toThrow('away');
  expect(await second).toBe('b');
});

test('a flood becomes a few statements, and is refused once ten thousand look-ups are unanswered', async () => {
  const { statements, lookUps } = createAsked();
  const flood = Array.from({ length: 10_000 }, (_, index) => lookUps.find(`h${index}`));
  // Tickets are looked up by it as well.
  const problem = { code: 'rate_limited', message: 'Too many API keys and tickets are being checked right now.' };
  const refused = () => expect(() => lookUps.find('more')).toThrow(expect.objectContaining(problem));
  refused();
  vi.advanceTimersByTime(500);
  expect(statements).toHaveLength(5);
  vi.advanceTimersByTime(10_000);
  expect(statements.map(({ hashes }) => hashes.length)).toEqual(Array.from({ length: 10 }, () => 1000));
  refused();
  for (const { answer } of statements) answer();
  expect(await Promise.all(flood)).toHaveLength(10_000);
  await settled();
  void lookUps.find('more');
});
