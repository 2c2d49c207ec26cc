import { beforeEach, expect, test } from 'vitest';
import { createFoundCache, type FoundCache, foundCacheMilliseconds } from './found-cache.ts';

let now: number;
let asked: string[];
let there: Map<string, string>;
/** What happens while a question is under way. */
let meanwhile: () => void;
let cache: FoundCache<string>;

beforeEach(() => {
  now = 1_000;
  asked = [];
  there = new Map([
    ['p1/a', 'owner'],
    ['p1/b', 'viewer'],
    ['p2/a', 'editor'],
  ]);
  meanwhile = () => undefined;
  cache = createFoundCache(
    async (projectId, id) => {
      asked.push(`${projectId}/${id}`);
      const found = there.get(`${projectId}/${id}`);
      meanwhile();
      return found;
    },
    () => now,
  );
});

test('what was found is told without asking again, until its time is over', async () => {
  expect(await cache.find('p1', 'a')).toBe('owner');
  now += foundCacheMilliseconds - 1;
  expect(cache.find('p1', 'a')).toBe('owner');
  expect(asked).toEqual(['p1/a']);
  now += 1;
  there.delete('p1/a');
  expect(await cache.find('p1', 'a')).toBeUndefined();
  expect(asked).toEqual(['p1/a', 'p1/a']);
});

test('what was not found is asked for every time, so that what is new counts at once', async () => {
  expect(await cache.find('p1', 'c')).toBeUndefined();
  there.set('p1/c', 'viewer');
  expect(await cache.find('p1', 'c')).toBe('viewer');
  expect(cache.find('p1', 'c')).toBe('viewer');
});

test('forgetting a project forgets all of it, and nothing else', async () => {
  for (const [projectId, id] of [
    ['p1', 'a'],
    ['p1', 'b'],
    ['p2', 'a'],
  ] as const)
    await cache.find(projectId, id);
  there.clear();
  cache.forgetProject('p1');
  expect(await cache.find('p1', 'a')).toBeUndefined();
  expect(await cache.find('p1', 'b')).toBeUndefined();
  expect(cache.find('p2', 'a')).toBe('editor');
  cache.forgetAll();
  expect(await cache.find('p2', 'a')).toBeUndefined();
});

test.each([
  ['its project', () => cache.forgetProject('p1')],
  ['everything', () => cache.forgetAll()],
])('what went away while it was asked for does not come to life again: %s was forgotten', async (_, forget) => {
  meanwhile = () => {
    there.delete('p1/a');
    forget();
  };
  expect(await cache.find('p1', 'a')).toBe('owner');
  meanwhile = () => undefined;
  expect(await cache.find('p1', 'a')).toBeUndefined();
});

test('forgetting one project keeps what is being asked for of another', async () => {
  meanwhile = () => cache.forgetProject('p2');
  await cache.find('p1', 'a');
  expect(cache.find('p1', 'a')).toBe('owner');
});

test('more projects are forgotten than it keeps count of: it forgets everything instead', async () => {
  await cache.find('p1', 'a');
  for (let i = 0; i <= 100_000; i += 1) cache.forgetProject(`other ${i}`);
  there.delete('p1/a');
  expect(await cache.find('p1', 'a')).toBeUndefined();
});
