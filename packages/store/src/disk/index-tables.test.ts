import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { expect, test } from 'vitest';
import { openIndexTables } from './index-tables.ts';

test('a new index can be read by its owner only', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cadiz-index-'));
  const tables = await openIndexTables(join(folder, 'index'));
  expect((await stat(join(folder, 'index'))).mode & 0o777).toBe(0o700);
  await tables.close();
  await rm(folder, { recursive: true });
});

test('an index of a newer version is refused, with what to do', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cadiz-index-'));
  const root = open({ path: folder, maxDbs: 16, encoding: 'json' });
  await root.openDB<number, string>({ name: 'meta', encoding: 'json' }).put('format', 5);
  await root.close();
  await expect(openIndexTables(folder)).rejects.toThrow(
    `The index in ${folder} has format 5, but this version of Cadiz reads only formats up to 4: a newer version has used the object store. Start the newer version, or`,
  );
  await rm(folder, { recursive: true });
});
