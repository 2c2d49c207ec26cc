// @ts-check
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import { findMutants } from './instrument.mjs';
import { plan } from './plan.mjs';

// One process, one service graph: each mutant is switched on while the tests of its module run, until one of them fails.
const root = fileURLToPath(new URL('../..', import.meta.url));
const wanted = process.env.MUTATE?.split(',') ?? [];
const kinds = process.env.MUTATE_KINDS?.split(',');
const results = process.env.MUTATE_RESULTS ?? '/dev/stdout';

/** What fails also when nothing is broken, since it wants a database of its own, tells nothing. */
const useless = new Set();

for (const [file, tests] of Object.entries(plan)) {
  if (wanted.length > 0 && !wanted.some((part) => file.includes(part))) continue;
  const whole = { id: -1, line: 0, kind: 'none', text: '' };
  for (const mutant of [whole, ...findMutants(readFileSync(join(root, file), 'utf8'))]) {
    if (mutant !== whole && kinds && !kinds.includes(mutant.kind)) continue;
    const id = `${file}#${mutant.id}`;
    describe(id, async () => {
      /** @type {string | undefined} */
      let killer;
      let survived = false;
      beforeAll(() => {
        Object.assign(globalThis, { mutant: id });
      });
      beforeEach(({ skip, task, onTestFailed }) => {
        const name = `${file} ${task.name}`;
        if (killer !== undefined || useless.has(name)) skip();
        onTestFailed(() => {
          if (mutant === whole) useless.add(name);
          else killer ??= task.name;
        });
      });
      afterAll(() => {
        Object.assign(globalThis, { mutant: undefined });
        const outcome = survived ? 'survived' : 'killed';
        const { line, kind, text } = mutant;
        const told = { file, line, kind, text, outcome, killer, useless: useless.size };
        appendFileSync(results, `${JSON.stringify(told)}\n`);
      });
      // Each its own copy of the tests; what they import is shared.
      for (const path of tests) await import(/* @vite-ignore */ `${join(root, path)}?mutant=${encodeURIComponent(id)}`);
      test('nobody noticed', () => {
        survived = true;
      });
    });
  }
}
