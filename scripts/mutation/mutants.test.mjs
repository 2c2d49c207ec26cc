// @ts-check
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import { plan } from './plan.mjs';
import { state } from './vitest-until-killed.mjs';

// One process, one service graph: each mutant is switched on while the tests of its module run, until one of them fails.
const root = fileURLToPath(new URL('../..', import.meta.url));
const file = process.env.MUTATE ?? '';
const results = process.env.MUTATE_RESULTS ?? '/dev/stdout';
const ids = (process.env.MUTATE_IDS ?? '').split(',').map(Number);

/** Tests that fail even with nothing broken, because they need a database of their own, tell nothing. */
const useless = new Set();

/** Tests whose setup fails do not run at all. @param {import('vitest').RunnerTask} task @returns {boolean} */
const hasBrokenHook = (task) =>
  task.type === 'suite' && ((task.result?.errors?.length ?? 0) > 0 || task.tasks.some(hasBrokenHook));

for (const id of [-1, ...ids]) {
  describe(`${file}#${id}`, async () => {
    let survived = false;
    let since = 0;
    beforeAll(() => {
      since = Date.now();
      Object.assign(globalThis, { mutant: `${file}#${id}` });
      state.isKilled = false;
    });
    beforeEach(({ skip, task, onTestFailed }) => {
      if (state.isKilled || useless.has(task.name)) skip();
      onTestFailed(() => {
        if (id === -1) useless.add(task.name);
        else state.isKilled = true;
      });
    });
    afterAll(() => {
      Object.assign(globalThis, { mutant: undefined });
      const told = id === -1 ? { useless: [...useless], ms: Date.now() - since } : { id, survived };
      appendFileSync(results, `${JSON.stringify(told)}\n`);
    });
    // Each mutant gets its own copy of the tests; what they import is shared.
    for (const path of plan[file] ?? []) await import(/* @vite-ignore */ `${join(root, path)}?mutant=${id}`);
    test('nobody noticed', ({ task }) => {
      survived = !task.suite?.tasks.some(hasBrokenHook);
    });
  });
}
