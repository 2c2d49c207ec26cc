import { beforeEach, describe, expect, test } from 'vitest';
import { createFoundCache, type FoundCache, foundCacheMilliseconds } from './found-cache.ts';

let now: number;
let asked: string[];
let there: Map<string, string>;
/** What happens while a query is running. */
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

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('a found value is served from the cache until it expires', async () => {
  expect(await cache.find('p1', 'a')).toBe('owner');
  now += foundCacheMilliseconds / 2 - 1;
  expect(cache.find('p1', 'a')).toBe('owner');
  expect(asked).toEqual(['p1/a']);
  now += foundCacheMilliseconds / 2 + 1;
  there.delete('p1/a');
  expect(await cache.find('p1', 'a')).toBeUndefined();
  expect(asked).toEqual(['p1/a', 'p1/a']);
});

describe('what is used in the second half of its time', () => {
  beforeEach(async () => {
    await cache.find('p1', 'a');
    now += foundCacheMilliseconds / 2;
    asked = [];
  });

  test('is looked up again once, while it is served from the cache, and lives on', async () => {
    there.set('p1/a', 'editor');
    for (let i = 0; i < 3; i += 1) expect(cache.find('p1', 'a')).toBe('owner');
    await settled();
    expect(asked).toEqual(['p1/a']);
    expect(cache.find('p1', 'a')).toBe('editor');
    now += foundCacheMilliseconds - 1;
    expect(cache.find('p1', 'a')).toBe('editor');
  });

  test('is no longer served once that has found that it is gone', async () => {
    there.delete('p1/a');
    expect(cache.find('p1', 'a')).toBe('owner');
    await settled();
    expect(await cache.find('p1', 'a')).toBeUndefined();
  });

  test('is served until it expires while the database fails, and not a moment longer', async () => {
    meanwhile = () => {
      throw new Error('away');
    };
    expect(cache.find('p1', 'a')).toBe('owner');
    await settled();
    now += foundCacheMilliseconds / 2 - 1;
    expect(cache.find('p1', 'a')).toBe('owner');
    now += 1;
    await expect(cache.find('p1', 'a')).rejects.toThrow('away');
  });

  test('is forgotten meanwhile', async () => {
    meanwhile = () => cache.forgetProject('p1');
    expect(cache.find('p1', 'a')).toBe('owner');
    await settled();
    there.delete('p1/a');
    expect(await cache.find('p1', 'a')).toBeUndefined();
  });
});

test('a missing value is queried every time, so a new one counts at once', async () => {
  expect(await cache.find('p1', 'c')).toBeUndefined();
  there.set('p1/c', 'viewer');
  expect(await cache.find('p1', 'c')).toBe('viewer');
  expect(cache.find('p1', 'c')).toBe('viewer');
});

test('forgetting a project forgets everything in it and nothing else', async () => {
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
])('a value that disappears during its query is not cached: %s was forgotten', async (_, forget) => {
  meanwhile = () => {
    there.delete('p1/a');
    forget();
  };
  expect(await cache.find('p1', 'a')).toBe('owner');
  meanwhile = () => undefined;
  expect(await cache.find('p1', 'a')).toBeUndefined();
});

test('forgetting one project keeps a running query of another', async () => {
  meanwhile = () => cache.forgetProject('p2');
  await cache.find('p1', 'a');
  expect(cache.find('p1', 'a')).toBe('owner');
});

test('forgets everything once more projects are forgotten than it can track', async () => {
  await cache.find('p1', 'a');
  for (let i = 0; i <= 100_000; i += 1) cache.forgetProject(`other ${i}`);
  there.delete('p1/a');
  expect(await cache.find('p1', 'a')).toBeUndefined();
});
