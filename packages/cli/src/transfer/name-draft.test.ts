import { createHash } from 'node:crypto';
import { lstat, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { File } from '@cadiz/client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { nameDraft } from './name-draft.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-name-draft-'));
  await writeFile(join(folder, 'draft'), 'new');
});
afterEach(() => rm(folder, { recursive: true }));

const sha256 = createHash('sha256').update('new').digest('hex');
const file = { fileSize: 3, sha256, sha256State: 'verified', createdAt: '2026-01-01T00:00:00Z', metadata: {} } as File;

async function toDraft(isNew: boolean) {
  const draft = join(folder, 'draft');
  return { draft, written: await lstat(draft), file, to: join(folder, 'a.txt'), isNew };
}

const noLinks = async () => {
  throw Object.assign(new Error(), { code: 'EPERM' });
};

/** What is in the folder, with its text. */
const read = async () =>
  Promise.all((await readdir(folder)).sort().map(async (name) => [name, await readFile(join(folder, name), 'utf8')]));

test.each([
  ['with links', undefined],
  ['without links', noLinks],
] as const)('%s, a new name is given, and none that is taken', async (_, makeLink) => {
  await nameDraft(await toDraft(true), makeLink);
  expect(await read()).toEqual([['a.txt', 'new']]);
  await writeFile(join(folder, 'draft'), 'new');
  await writeFile(join(folder, 'a.txt'), 'own');
  const draft = await toDraft(true);
  await expect(nameDraft(draft, makeLink)).rejects.toMatchObject({ code: 'EEXIST', path: draft.to });
  expect(await read()).toEqual([
    ['a.txt', 'own'],
    ['draft', 'new'],
  ]);
});

test('what the plan saw is replaced', async () => {
  await writeFile(join(folder, 'a.txt'), 'old');
  await nameDraft(await toDraft(false));
  expect(await read()).toEqual([['a.txt', 'new']]);
});

test('what another command has downloaded meanwhile is as good', async () => {
  const draft = await toDraft(true);
  await writeFile(draft.to, 'new');
  await utimes(draft.to, 1, 1);
  await nameDraft(draft);
  expect(await read()).toEqual([['a.txt', 'new']]);
  // The other one has removed the draft as well.
  await nameDraft(draft);
  expect(await read()).toEqual([['a.txt', 'new']]);
  await rm(draft.to);
  await expect(nameDraft(draft)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('without links either, only one of two files gets a name that was free', async () => {
  const first = await toDraft(true);
  await writeFile(join(folder, 'other'), 'own');
  const other = join(folder, 'other');
  const second = { ...first, draft: other, written: await lstat(other), file: { ...file, sha256: 'another' } };
  const results = await Promise.allSettled([first, second].map((draft) => nameDraft(draft, noLinks)));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(await read()).toEqual([
    ['a.txt', 'new'],
    ['other', 'own'],
  ]);
});

test('a name that the file system cannot hold is told by that name', async () => {
  const noName = async () => {
    throw Object.assign(new Error(), { code: 'ENOENT' });
  };
  const draft = await toDraft(true);
  await expect(nameDraft(draft, noName)).rejects.toMatchObject({ code: 'EINVAL', path: draft.to });
});
