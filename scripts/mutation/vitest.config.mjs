// @ts-check
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { findMutants, fix, instrument } from './instrument.mjs';
import { matrix, plan } from './plan.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const file = process.env.MUTATE ?? '';
/** The mutant that is in the code from the start; the others are switched on one after another, and share a database. */
const fixed = process.env.MUTATE_FIXED;
const untilKilled = join(root, 'scripts/mutation/vitest-until-killed.mjs');
const databases = join(root, 'packages/server/test/database.ts');

export default defineConfig({
  root,
  plugins: [
    {
      name: 'mutants',
      enforce: 'pre',
      load(id) {
        if (id === databases && fixed === undefined) return shareOne(readFileSync(id, 'utf8'));
        if (id !== join(root, file)) return undefined;
        const code = readFileSync(id, 'utf8');
        const mutants = findMutants(code);
        return fixed === undefined ? instrument(code, file, mutants) : fix(code, mutants[Number(fixed)]);
      },
      transform(code, id) {
        if (id.includes('?mutant=')) return code.replace(/(['"])vitest\1/, JSON.stringify(untilKilled));
        return undefined;
      },
    },
  ],
  test: {
    include:
      fixed === undefined
        ? ['scripts/mutation/mutants.test.mjs']
        : process.env.MUTATE_MATRIX
          ? matrix
          : (plan[file] ?? []),
    globalSetup: './scripts/test-folder.mjs',
    pool: 'forks',
    // As many modules run in parallel as there are processors.
    maxWorkers: 1,
    bail: fixed === undefined ? 0 : 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: [['default', { summary: false }]],
    silent: true,
  },
});

/** Since making a database takes longer than most tests; they are kept apart as tenants are. @param {string} code */
function shareOne(code) {
  return `${code.replace('export async function openTestDatabase(', 'async function openOwn(')}
    const shared: Record<string, Promise<Database>> = {};
    export async function openTestDatabase(kind: Database['kind'] = serverUrl ? 'postgres' : 'embedded') {
      shared[kind] ??= openOwn(kind);
      return { ...(await shared[kind]), close: async () => undefined };
    }`;
}
