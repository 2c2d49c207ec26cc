import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');

test('every test that the README names is there', () => {
  const [, table = ''] = read('../README.md').split('| what somebody does | held by |');
  const named = [...table.matchAll(/`([\w-]+)` ([^;|]+?) *(?=[;|])/g)];
  expect(named.length).toBeGreaterThan(50);
  const missing = named.filter(([, file, name]) => !read(`../../../e2e/${file}.test.ts`).includes(`'${name}`));
  expect(missing.map(([text]) => text)).toEqual([]);
});
