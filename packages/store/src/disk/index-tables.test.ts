import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openIndexTables } from './index-tables.ts';

test('a new index can be read by its owner only', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cadiz-index-'));
  const tables = await openIndexTables(join(folder, 'index'));
  expect((await stat(join(folder, 'index'))).mode & 0o777).toBe(0o700);
  await tables.close();
  await rm(folder, { recursive: true });
});
