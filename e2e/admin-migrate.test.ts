import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { quickStart } from './service.ts';

const program = fileURLToPath(new URL('../packages/cli/dist/main.js', import.meta.url));
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-migrate-'));
});
afterAll(() => rm(folder, { recursive: true }));

function migrate(...options: string[]): Promise<{ code: number; out: string; err: string }> {
  const env = { PATH: process.env.PATH, CADIZ_DATA_DIR: folder };
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [...quickStart, program, 'admin', 'migrate', ...options],
      { env, cwd: folder },
      (_, out, err) => resolve({ code: child.exitCode ?? -1, out, err }),
    );
  });
}

it('names what is pending, applies it, and has nothing to do after that', { timeout: 60_000 }, async () => {
  const early = await migrate();
  expect(early).toMatchObject({ code: 1, out: '' });
  expect(early.err).toContain('There is no database in');

  await mkdir(join(folder, 'database'));
  const { pending } = JSON.parse((await migrate('--dry-run', '--json')).out) as { pending: string[] };
  expect(pending[0]).toBe('0001-foundation.sql');
  expect(JSON.parse((await migrate('--json')).out)).toEqual({ applied: pending });
  expect(await migrate()).toMatchObject({ code: 0, out: 'The schema is up to date.\n' });
});
