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
  const toFile = (id: string) => ({ id, created_at: '2027-01-31T00:00:00.000Z' });
  const insertOne = async (id: string, projectId = 'a') => (await insert(projectId, [toFile(id)])).has(id);
  const insertBatch = async (ids: string[]) => {
    const inserted = await insert('a', ids.map(toFile));
    return ids.filter((id) => inserted.has(id));
  };
  return { running, next, insert: insertOne, insertBatch };
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

test('the files of a batch share one statement, also with others that wait', async () => {
  const { next, insert, insertBatch } = openStatements();
  const first = insertBatch(['1', 'not 2', '3']);
  const statement = await next();
  expect(statement.ids).toEqual(['1', 'not 2', '3']);
  const waiting = [insert('4'), insert('not 5')];
  const second = insertBatch(['6', '7']);
  statement.end();
  expect(await first).toEqual(['1', '3']);
  const shared = await next();
  expect(shared.ids).toEqual(['4', 'not 5', '6', '7']);
  shared.end();
  expect(await Promise.all(waiting)).toEqual([true, false]);
  expect(await second).toEqual(['6', '7']);
});

test('a batch is never divided, and a statement takes no second one that makes it too long', async () => {
  const { next, insert, insertBatch } = openStatements();
  const idsOf = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n}`);
  void insert('first');
  const answers = [insertBatch(idsOf('a', 60)), insertBatch(idsOf('b', 60)), insertBatch(idsOf('c', 40))];
  const sizes = [];
  for (let statement = 0; statement < 3; statement++) {
    const { ids, end } = await next();
    sizes.push(ids.length);
    end();
  }
  expect(sizes).toEqual([1, 60, 100]);
  expect((await Promise.all(answers)).map((ids) => ids.length)).toEqual([60, 60, 40]);
});
