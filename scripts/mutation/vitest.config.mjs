// @ts-check
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { findMutants, instrument } from './instrument.mjs';
import { plan } from './plan.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** One database for all mutants, since making one takes longer than most tests; they are kept apart as tenants are. */
const databases = join(root, 'packages/server/test/database.ts');
const files = new Map(Object.keys(plan).map((file) => [join(root, file), file]));

export default defineConfig({
  root,
  plugins: [
    {
      name: 'mutants',
      enforce: 'pre',
      load(id) {
        if (id === databases) return shareOne(readFileSync(id, 'utf8'));
        const file = files.get(id);
        if (file === undefined) return undefined;
        const code = readFileSync(id, 'utf8');
        return instrument(code, file, findMutants(code));
      },
    },
  ],
  test: {
    include: ['scripts/mutation/mutants.test.mjs'],
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 60_000,
    reporters: [['default', { summary: false }]],
    silent: true,
  },
});

/** @param {string} code */
function shareOne(code) {
  return `${code.replace('export async function openTestDatabase(', 'async function openOwn(')}
    const shared: Record<string, Promise<Database>> = {};
    export async function openTestDatabase(kind: Database['kind'] = serverUrl ? 'postgres' : 'embedded') {
      shared[kind] ??= openOwn(kind);
      return { ...(await shared[kind]), close: async () => undefined };
    }`;
}
