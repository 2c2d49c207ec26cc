import { chownSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeTestFolder } from '../../test/embedded-database.ts';
import { backUp } from '../admin/backup.ts';
import { readConfig } from '../settings/config.ts';
import { openUnmigrated } from './open-beside.ts';

const nobody = 65_534;
let folder: string;
beforeEach(async () => {
  folder = await makeTestFolder();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test.skipIf(process.geteuid?.() !== 0)('root leaves the database of another user as it is', async () => {
  const config = readConfig({ CADIZ_DATA_DIR: folder });
  const files = join(folder, 'database', 'pgdata');
  await mkdir(files, { recursive: true });
  chownSync(files, nobody, nobody);
  const refusal = 'belongs to the user with the id 65534, who could not use what root writes there: run the command';
  await expect(openUnmigrated(config, '')).rejects.toThrow(refusal);
  await expect(backUp(config, join(folder, 'backup'))).rejects.toThrow(refusal);
  expect(await readdir(join(folder, 'database'), { recursive: true })).toEqual(['pgdata']);
});
