import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createInsertTogether } from './insert-together.ts';

/** Statements that run until they are told how they end. */
function openStatements() {
  const running: { projectId: string; ids: string[]; end(outcome?: Error): void }[] = [];
  const insert = createInsertTogether(
    (projectId, files) =>
      new Promise((resolve, reject) => {
        const ids = files.map(({ id }) => id);
        // Whatever begins with "not" is refused, as the limits of the project do.
        const inserted = new Set(ids.filter((id) => !id.startsWith('not')));
        const end = (outcome?: Error) => (outcome ? reject(outcome) : resolve(inserted));
        running.push({ projectId, ids, end });
      }),
  );
  const next = async () => {
    await turn();
    const statement = running.shift();
    if (!statement) throw new Error('no statement runs');
    return statement;
  };
  return { running, next, insert: (id: string, projectId = 'a') => insert(projectId, { id }) };
}

test('files that come in while a statement of their project runs share the next one, and each has its own answer', async () => {
  const { running, next, insert } = openStatements();
  const answers = ['1', '2', 'not 3', '4'].map((id) => insert(id));
  const first = await next();
  expect(first.ids).toEqual(['1']);
  expect(running).toEqual([]);
  first.end();
  const second = await next();
  expect(second.ids).toEqual(['2', 'not 3', '4']);
  answers.push(insert('5'));
  second.end();
  (await next()).end();
  expect(await Promise.all(answers)).toEqual([true, true, false, true, true]);

  const later = insert('6');
  const last = await next();
  expect(last.ids).toEqual(['6']);
  last.end();
  expect(await later).toBe(true);
});

test('another project does not wait', async () => {
  const { running, insert } = openStatements();
  void insert('1', 'a');
  void insert('2', 'b');
  await turn();
  expect(running.map(({ projectId, ids }) => [projectId, ids])).toEqual([
    ['a', ['1']],
    ['b', ['2']],
  ]);
});

test('a statement inserts at most a hundred', async () => {
  const { next, insert } = openStatements();
  const answers = Array.from({ length: 251 }, (_, n) => insert(`${n}`));
  const sizes = [];
  for (let statement = 0; statement < 4; statement++) {
    const { ids, end } = await next();
    sizes.push(ids.length);
    end();
  }
  expect(sizes).toEqual([1, 100, 100, 50]);
  expect(new Set(await Promise.all(answers))).toEqual(new Set([true]));
});

test('if a statement for several fails, only those fail that fail by themselves', async () => {
  const { next, insert } = openStatements();
  const answers = Promise.allSettled(['1', '2', '3', '4'].map((id) => insert(id)));
  (await next()).end(new Error('the first by itself'));
  const together = await next();
  expect(together.ids).toEqual(['2', '3', '4']);
  together.end(new Error('one of them'));
  for (const id of ['2', '3', '4']) {
    const alone = await next();
    expect(alone.ids).toEqual([id]);
    alone.end(id === '3' ? new Error('the bad one') : undefined);
  }
  expect(await answers).toMatchObject([
    { status: 'rejected', reason: { message: 'the first by itself' } },
    { status: 'fulfilled', value: true },
    { status: 'rejected', reason: { message: 'the bad one' } },
    { status: 'fulfilled', value: true },
  ]);
});
