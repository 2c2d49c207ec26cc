import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@cadiz/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Context } from '../packages/cli/dist/context.js';
import { createFilter } from '../packages/cli/dist/transfer/filter.js';
import { foldPath } from '../packages/cli/dist/transfer/local-key.js';
import { planSyncDown } from '../packages/cli/dist/transfer/plan-sync-down.js';
import { newReport } from '../packages/cli/dist/transfer/report.js';
import { startWorkplace, type Workplace } from './cli.ts';

let place: Workplace;
beforeAll(async () => {
  place = await startWorkplace();
});
afterAll(() => place.close());

let name = '';
let number = 0;
beforeEach(async () => {
  name = `s${++number}`;
  await mkdir(here(), { recursive: true });
});
const here = (...path: string[]) => join(place.folder, name, ...path);
const client = () => createClient({ baseUrl: place.service.url, apiKey: place.apiKey });
const remote = () => `cadiz:/${name}`;

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(here(path), '..'), { recursive: true });
    await writeFile(here(path), text);
  }
}

const listHere = async () => (await readdir(here(), { recursive: true })).sort();
const listThere = async () => (await place.ok(['ls', '-R', remote()])).stdout.split('\n').filter(Boolean).sort();

/** A dry run must print what the sync then prints, and the sync after it nothing. */
async function syncAsForetold(args: string[]): Promise<string> {
  const dry = await place.ok(['sync', ...args, '--dry-run']);
  const real = await place.ok(['sync', ...args, '--yes']);
  expect(real.stdout).toBe(dry.stdout);
  const again = await place.ok(['sync', ...args, '--yes']);
  expect([again.stdout, again.stderr]).toEqual(['', expect.stringContaining('Nothing to do')]);
  return real.stdout;
}

describe('up', () => {
  test('creates, replaces and deletes what the dry run says, and then does nothing', async () => {
    await write({ 'a.txt': 'a', 'sub/b.txt': 'b', 'über/日本.txt': 'c' });
    await mkdir(here('empty/deep'), { recursive: true });
    expect(await syncAsForetold([here(), remote()])).toBe(
      'create    empty/\ncreate    empty/deep/\nupload    a.txt\nupload    sub/b.txt\nupload    über/日本.txt\n',
    );
    expect(await listThere()).toEqual(
      ['a.txt', 'empty/', 'empty/deep/', 'sub/', 'sub/b.txt', 'über/', 'über/日本.txt'].sort(),
    );

    await write({ 'a.txt': 'changed' });
    await rm(here('sub'), { recursive: true });
    await client().upload('x', { name: 'twice.txt', folder: name });
    await client().upload('y', { name: 'a.txt', folder: `${name}/gone/deep` });
    expect(await syncAsForetold([here(), remote()])).toBe('replace   a.txt\n');
    expect(await syncAsForetold([here(), remote(), '--delete'])).toBe(
      'delete    gone/\ndelete    sub/\ndelete    twice.txt\n',
    );
    expect(await listThere()).toEqual(['a.txt', 'empty/', 'empty/deep/', 'über/', 'über/日本.txt'].sort());
    const { entries } = await place.json<{ entries: { name: string }[] }>(['trash']);
    expect(entries.map((entry) => entry.name)).toEqual(expect.arrayContaining(['gone', 'sub', 'twice.txt']));
  });

  test('deletes nothing without --yes or an answer, and nothing that is here but left out', async () => {
    await write({ 'a.txt': 'a', 'real.txt': 'r', 'real/b.txt': 'b' });
    await place.ok(['sync', here(), remote()]);
    for (const [path, target] of [
      ['real.txt', 'a.txt'],
      ['real', '.'],
    ] as const) {
      await rm(here(path), { recursive: true });
      await symlink(target, here(path));
    }
    expect((await place.ok(['sync', here(), remote(), '--delete', '--yes'])).stdout).toBe('');
    for (const path of ['real.txt', 'real']) await rm(here(path));
    expect((await place.cadiz(['sync', here(), remote(), '--delete'])).code).toBe(2);
    const no = await place.type(
      ['sync', here(), remote(), '--delete'],
      [['Move to the trash: 1 folder, 2 files, 2 B? [y/N]', 'n']],
    );
    expect(no.code).toBe(1);
    expect(await listThere()).toEqual(['a.txt', 'real.txt', 'real/', 'real/b.txt']);
  });

  test('takes folders for one whose names differ in case or in how accents are composed', async () => {
    await write({ 'Été/a.txt': 'a', 'Été/deep/b.txt': 'b' });
    await mkdir(here('Été/empty'));
    await place.ok(['sync', here(), remote()]);
    await rename(here('Été'), here('E\u0301TE\u0301'));
    expect(await syncAsForetold([here(), remote(), '--delete'])).toBe('');
    await rm(here('E\u0301TE\u0301/deep'), { recursive: true });
    expect(await syncAsForetold([here(), remote(), '--delete'])).toBe('delete    Été/deep/\n');
    expect(await listThere()).toEqual(['Été/', 'Été/a.txt', 'Été/empty/']);
  });

  test('replaces a file with other bytes that was recorded later without the time of its last change', async () => {
    await client().upload('one', { name: 'a.txt', folder: name });
    await client().upload('same', { name: 'b.txt', folder: name });
    await write({ 'a.txt': 'two', 'b.txt': 'same' });
    for (const path of ['a.txt', 'b.txt']) await utimes(here(path), 1, 1);
    expect(await syncAsForetold([here(), remote()])).toBe('replace   a.txt\n');
    expect((await place.ok(['cat', `${remote()}/a.txt`])).stdout).toBe('two');
  });

  test('of files that share a path, the newest is compared, and --delete removes the others', async () => {
    await client().upload('old', { name: 'a.txt', folder: name });
    await client().upload('new', { name: 'a.txt', folder: name });
    await write({ 'a.txt': 'new' });
    await utimes(here('a.txt'), 1, 1);
    expect(await syncAsForetold([here(), remote()])).toBe('');
    expect(await syncAsForetold([here(), remote(), '--delete'])).toBe('delete    a.txt\n');
    expect((await place.ok(['cat', `${remote()}/a.txt`])).stdout).toBe('new');
  });
});

describe('down', () => {
  test('creates, replaces and deletes what the dry run says, and then does nothing, also upwards', async () => {
    for (const [path, text] of [
      ['', 'a.txt'],
      ['sub/deep', 'b.txt'],
      ['über', '日本.txt'],
    ] as const)
      await client().upload(text, { name: text, folder: `${name}/${path}` });
    await client().folders.ensure([`${name}/empty`]);
    expect(await syncAsForetold([remote(), here('')])).toBe(
      'create    empty/\ndownload  a.txt\ndownload  sub/deep/b.txt\ndownload  über/日本.txt\n',
    );
    expect(await readFile(here('über/日本.txt'), 'utf8')).toBe('日本.txt');
    expect((await place.ok(['sync', here(), remote(), '--delete'])).stdout).toBe('');

    await write({ 'a.txt': 'mine', 'links/x.txt': 'x', 'mine/x.txt': 'x' });
    for (const path of ['link', 'links/own']) await symlink('a.txt', here(path));
    expect(await syncAsForetold([remote(), here('')])).toBe('replace   a.txt\n');
    expect(await syncAsForetold([remote(), here(''), '--delete'])).toBe(
      'delete    links/x.txt\ndelete    mine/x.txt\ndelete    mine/\n',
    );
    const there = ['a.txt', 'empty', 'sub', 'sub/deep', 'sub/deep/b.txt', 'über', 'über/日本.txt'];
    expect(await listHere()).toEqual([...there, 'link', 'links', 'links/own'].sort());
  });

  test('with --delete, a file takes the place of a folder, and a folder that of a file', async () => {
    await client().upload('x', { name: 'a', folder: name });
    await client().upload('y', { name: 'y.txt', folder: `${name}/b` });
    await write({ 'a/deep/old.txt': 'old', b: 'old' });
    expect((await place.cadiz(['sync', remote(), here()])).code).toBe(5);
    expect(await syncAsForetold([remote(), here(), '--delete'])).toBe(
      'delete    a/deep/old.txt\ndelete    b\ndelete    a/deep/\ndelete    a/\ndownload  a\ndownload  b/y.txt\n',
    );
    expect(await listHere()).toEqual(['a', 'b', 'b/y.txt']);
  });

  test('of a file and a folder with one name, the folder comes, and the dry run says so', async () => {
    for (const twin of ['full', 'empty', 'plain']) await client().upload(twin, { name: twin, folder: name });
    await client().upload('x', { name: 'inner', folder: `${name}/full` });
    await client().folders.ensure([`${name}/empty`]);
    await mkdir(here('target'));
    const left = (path: string) => expect.stringMatching(new RegExp(`^${path}: a folder has the same name`));
    const sync = async (...args: string[]) => {
      const { code, stdout, stderr } = await place.cadiz(['sync', remote(), here('target'), ...args]);
      const errors = stderr.split('\n').filter((line) => line.startsWith('Error: '));
      return [code, stdout, errors.map((line) => line.slice('Error: '.length)).slice(0, -1)];
    };
    const foretold = 'create    empty/\ndownload  full/inner\ndownload  plain\n';
    const failed = [left('empty'), left('full')];
    expect(await sync('--dry-run')).toEqual([5, foretold, failed]);
    expect(await sync()).toEqual([5, foretold, failed]);
    expect(await sync('--dry-run', '--delete')).toEqual([5, '', failed]);
    expect((await readdir(here('target'), { recursive: true })).sort()).toEqual([
      'empty',
      'full',
      'full/inner',
      'plain',
    ]);
    const download = await place.cadiz(['download', '-rn', remote(), '--to', here('other')]);
    expect([download.code, download.stdout.includes('full/inner\n'), download.stdout.includes('full\n')]).toEqual([
      5,
      true,
      false,
    ]);
    // Where the file is here already, --delete lets the folder take its place.
    await rm(here('target/full'), { recursive: true });
    await rm(here('target/empty'), { recursive: true });
    await write({ 'target/full': 'full', 'target/empty': 'empty' });
    const inTheWay = ['empty', 'full/inner'].map((path) => expect.stringContaining(`${path}: something here`));
    expect(await sync('--dry-run')).toEqual([5, '', expect.arrayContaining([...inTheWay, ...failed])]);
    expect(await sync('--delete', '--yes')).toEqual([
      5,
      'delete    empty\ndelete    full\ncreate    empty/\ndownload  full/inner\n',
      failed,
    ]);
  });

  test('with --delete, removes what interrupted downloads have left, unless it is needed', async () => {
    await client().upload('kept', { name: 'kept.txt', folder: name });
    const { id } = await client().upload('the bytes', { name: 'a.txt', folder: name });
    const [inGone, inKept] = [`gone/.cadiz-${randomUUID()}.part`, `.cadiz-${randomUUID()}.part`];
    await write({ [inGone]: 'x', [inKept]: 'x', [`.cadiz-${id}.part`]: 'the', '.cadiz-mine.part': 'mine' });
    expect(await syncAsForetold([remote(), here(), '--exclude', 'a.txt'])).toBe('download  kept.txt\n');
    expect(await syncAsForetold([remote(), here(), '--delete'])).toBe(
      `delete    ${inKept}\ndelete    ${inGone}\ndelete    gone/\ndownload  a.txt\n`,
    );
    expect(await readFile(here('a.txt'), 'utf8')).toBe('the bytes');
    expect(await listHere()).toEqual(['.cadiz-mine.part', 'a.txt', 'kept.txt']);
  });

  test('with --delete, a folder that holds what is not known stays, and is told', async () => {
    await client().folders.ensure([name]);
    await write({ 'gone/.cadiz-mine.part': 'mine' });
    const { code, stderr } = await place.cadiz(['sync', remote(), here(), '--delete', '--yes']);
    expect([code, stderr]).toEqual([5, expect.stringContaining('is a folder that is not empty.')]);
  });

  test('deletes nothing that this machine takes for the same path: case and accents do not count everywhere', async () => {
    const names = ['a.txt', 'sub/b.txt', 'left/c.txt', 'E\u0301/d.txt'];
    for (const path of names)
      await client().upload('x', {
        name: path.split('/').pop() ?? '',
        folder: `${name}/${path.split('/').slice(0, -1).join('/')}`,
      });
    await client().folders.ensure([`${name}/empty`]);
    await write({ 'A.TXT': 'x', 'Sub/B.txt': 'x', 'Left/c.txt': 'x', '\u00e9/d.txt': 'x', 'More/gone.txt': 'x' });
    await mkdir(here('Empty'));
    const rules = {
      delete: true,
      checksum: false,
      links: false,
      concurrency: 1,
      filter: createFilter({ include: [], exclude: ['left/'] }),
    };
    const plan = (toKey?: typeof foldPath) =>
      planSyncDown({ cwd: here() } as Context, client(), remote(), '.', rules, newReport(), toKey);
    const deleted = async (...args: Parameters<typeof plan>) =>
      (await plan(...args)).actions
        .filter(({ action }) => action === 'delete' || action === 'create')
        .map(({ path }) => path);
    expect(await deleted(foldPath)).toEqual(['More/gone.txt', 'More/']);
    expect(await deleted((path) => path)).toEqual(
      expect.arrayContaining(['A.TXT', 'Sub/', 'Empty/', 'Left/c.txt', 'empty/']),
    );
  });

  test('writes through no symbolic link, and asks before it deletes', async () => {
    await client().upload('x', { name: 'x.txt', folder: `${name}/out` });
    await mkdir(here('elsewhere'));
    await mkdir(here('target'));
    await symlink('../elsewhere', here('target/out'));
    const { code, stderr } = await place.spawn(['sync', remote(), here('target')]);
    expect([code, stderr]).toEqual([5, expect.stringContaining('in the way')]);
    expect(await readdir(here('elsewhere'))).toEqual([]);
    await place.ok(['rm', `cadiz:/${name}/out/x.txt`, '--yes']);
    await place.ok(['mkdir', `cadiz:/${name}/out/empty`]);
    const empty = await place.cadiz(['sync', remote(), here('target')]);
    expect([empty.code, empty.stdout, empty.stderr]).toEqual([5, '', expect.stringContaining('out/empty: something')]);
    expect(await readdir(here('elsewhere'))).toEqual([]);
    await write({ 'target/mine.txt': 'x' });
    expect((await place.cadiz(['sync', remote(), here('target'), '--delete'])).code).toBe(2);
    expect(await readdir(here('target'))).toContain('mine.txt');
  });
});

test.each([5, 9 * 1024 ** 2])(
  'a file of %i bytes that is replaced elsewhere is not the one that was synced',
  async (size) => {
    const texts = ['a', 'b'].map((letter) => letter.repeat(size)) as [string, string];
    await write({ 'a.txt': texts[0] });
    const back = `${here()}-back`;
    await place.ok(['sync', here(), remote()]);
    await place.ok(['sync', remote(), back]);
    const [file] = (await client().files.page({ folder: name })).files;
    // It inherits the metadata, as it does in the console.
    await client().upload(texts[1], { name: 'a.txt', folder: name, replaces: file?.id });
    expect((await place.ok(['sync', remote(), back])).stdout).toBe('replace   a.txt\n');
    expect(await readFile(join(back, 'a.txt'), 'utf8')).toBe(texts[1]);
    expect((await place.ok(['sync', remote(), back])).stdout).toBe('');
    expect((await place.ok(['sync', here(), remote()])).stdout).toBe('replace   a.txt\n');
    expect((await place.ok(['cat', `${name}/a.txt`])).stdout).toBe(texts[0]);
  },
);

test.each([
  ['32 facts', Object.fromEntries(Array.from({ length: 32 }, (_, index) => [`k${index}`, true]))],
  ['4 KiB of facts', { long: 'x'.repeat(4085) }],
])('a file with %s of its own is replaced, and compared without the time of its last change', async (_, metadata) => {
  await client().upload('old', { name: 'a.txt', folder: name, metadata });
  await write({ 'a.txt': 'new bytes' });
  expect(await syncAsForetold([here(), remote()])).toBe('replace   a.txt\n');
  expect((await client().files.page({ folder: name })).files).toMatchObject([{ fileSize: 9, metadata }]);
});

test('wants one side in the project, and a source that exists', async () => {
  expect((await place.cadiz(['sync', 'a', 'b'])).code).toBe(2);
  expect((await place.cadiz(['sync', 'cadiz:/a', 'cadiz:/b'])).code).toBe(2);
  expect((await place.cadiz(['sync', '-L', remote(), here()])).code).toBe(2);
  expect((await place.cadiz(['sync', here('missing'), remote()])).code).toBe(3);
  expect((await place.cadiz(['sync', 'cadiz:/missing', here()])).code).toBe(3);
  await write({ file: 'x' });
  const { code, stderr } = await place.cadiz(['sync', 'cadiz:/', here('file')]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('/file is a file: sync takes folders.')]);
});

describe('what --include and --exclude leave out', () => {
  test('is left alone on both sides when a folder goes up', async () => {
    await write({ 'a.txt': 'a', 'sub/b.txt': 'b', 'sub/b.tmp': 'b', 'node_modules/x/y.js': 'y' });
    await client().upload('x', { name: 'old.tmp', folder: `${name}/gone/deep` });
    await client().upload('x', { name: 'old.txt', folder: `${name}/gone/other` });
    const rules = ['--exclude', '*.tmp', '--exclude', 'node_modules/'];
    expect(await syncAsForetold([here(), remote(), '--delete', ...rules])).toBe(
      'upload    a.txt\nupload    sub/b.txt\ndelete    gone/other/\n',
    );
    expect(await listThere()).toEqual(
      ['a.txt', 'gone/', 'gone/deep/', 'gone/deep/old.tmp', 'sub/', 'sub/b.txt'].sort(),
    );
    await write({ 'sub/new.jpg': 'j', 'new.txt': 'n' });
    expect(await syncAsForetold([here(), remote(), '--delete', '--include', '*.jpg'])).toBe('upload    sub/new.jpg\n');
  });

  test('is left alone in a project that spells its folders in another case', async () => {
    await write({ 'Photos/raw/a.txt': 'a', 'Photos/b.txt': 'b', 'c.txt': 'c', 'Drafts/d.txt': 'd' });
    for (const [name, folder] of [
      ['x.txt', 'photos/RAW'],
      ['y.txt', 'photos'],
      ['C.TXT', ''],
      ['d.txt', 'drafts'],
    ])
      await client().upload('x', { name, folder: `${remote().slice(7)}/${folder}` });
    const rules = ['--exclude', 'raw', '--exclude', 'c.txt', '--exclude', 'Drafts'];
    expect(await syncAsForetold([here(), remote(), '--delete', ...rules])).toBe(
      'upload    Photos/b.txt\ndelete    C.TXT\ndelete    photos/y.txt\n',
    );
  });

  test('is left alone on both sides when a folder comes down', async () => {
    await client().upload('a', { name: 'a.txt', folder: name });
    await client().upload('x', { name: 'x.tmp', folder: name });
    await write({ 'gone/old.txt': 'o', 'gone/mine/own.tmp': 'm', 'all/gone.txt': 'g' });
    expect(await syncAsForetold([remote(), here(), '--delete', '--exclude', '*.tmp'])).toBe(
      'delete    all/gone.txt\ndelete    gone/old.txt\ndelete    all/\ndownload  a.txt\n',
    );
    expect(await listHere()).toEqual(['a.txt', 'gone', 'gone/mine', 'gone/mine/own.tmp']);
  });
});
