import { cpSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeTestFolder } from '../../test/embedded-database.ts';
import { templatePath } from './embedded.ts';
import { foldersPath, listFolders, prepareFolder } from './embedded-folder.ts';

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

test('a template whose empty folders were lost, as npm packs it, makes a whole database', async () => {
  const folder = await makeTestFolder();
  try {
    const template = join(folder, 'template');
    cpSync(templatePath(), template, { recursive: true });
    cpSync(foldersPath(templatePath()), foldersPath(template));
    const folders = listFolders(template);
    for (const name of folders.toReversed())
      if (readdirSync(join(template, name)).length === 0) rmdirSync(join(template, name));
    expect(listFolders(template).length).toBeLessThan(folders.length);
    await prepareFolder(join(folder, 'pgdata'), template);
    expect(listFolders(join(folder, 'pgdata'))).toEqual(folders);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
