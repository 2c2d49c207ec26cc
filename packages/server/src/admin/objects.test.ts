import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { forEachObject, ObjectFailure } from './objects.ts';

test('of a thousand objects, some slow and some that fail, each has one result', async () => {
  const objects = Array.from({ length: 1000 }, (_, number) => ({ storeKey: `${number}`, sizeBytes: number }));
  const warned: string[] = [];
  const results = forEachObject(
    async function* () {
      yield* objects;
    },
    'Copying objects',
    {
      watch: () => ({ interject: (say) => say(), stop: () => undefined }),
      warn: (sentence) => void warned.push(sentence),
    },
    async ({ storeKey }) => {
      await delay(Number(storeKey) % 7);
      if (Number(storeKey) % 100 === 42) throw new ObjectFailure('it is gone.');
      return storeKey;
    },
    ({ storeKey }) => storeKey,
  );
  const keys: string[] = [];
  for await (const some of results) keys.push(...some);
  expect(keys.sort()).toEqual(objects.map(({ storeKey }) => storeKey).sort());
  expect(warned).toHaveLength(10);
});
