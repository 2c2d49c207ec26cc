import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeTestFolder } from '../../test/database.ts';
import { templatePath } from './embedded.ts';
import { prepareFolder } from './embedded-folder.ts';

/** The permission bits of a folder and of everything in it, each combination once. */
function modesIn(folder: string): Set<string> {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  return new Set(
    [folder, ...entries].map((path) => {
      const stats = statSync(path);
      return `${stats.isDirectory() ? 'folder' : 'file'} ${(stats.mode & 0o777).toString(8)}`;
    }),
  );
}

// The user who builds is not always the user who runs: root builds an image.
test('any user can read the template, and only its owner can read the database made from it', async () => {
  expect(modesIn(templatePath())).toEqual(new Set(['folder 755', 'file 644']));
  const folder = await makeTestFolder();
  try {
    await prepareFolder(join(folder, 'pgdata'), templatePath());
    expect(modesIn(join(folder, 'pgdata'))).toEqual(new Set(['folder 700', 'file 600']));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
