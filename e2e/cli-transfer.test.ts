import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { chmod, link, mkdir, readdir, readFile, rm, rmdir, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createClient } from '@cadiz/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { mountLoopDisk } from '../packages/store/test/loop-disk.ts';
import { collect, main, startWorkplace, type Workplace } from './cli.ts';
import { startFaultProxy } from './fault-proxy.ts';

interface Report {
  done: { path: string; id: string; bytes: number }[];
  unchanged: number;
  skipped: { path: string; why: string }[];
  failed: { path: string; error: string }[];
}

let place: Workplace;
beforeAll(async () => {
  place = await startWorkplace();
});
afterAll(() => place.close());

/** A folder on both sides that no other test uses. */
let name = '';
let number = 0;
beforeEach(() => {
  name = `t${++number}`;
});
const here = (...path: string[]) => join(place.folder, name, ...path);
const client = () => createClient({ baseUrl: place.service.url, apiKey: place.apiKey });

async function write(files: Record<string, string | Buffer>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(here(path), '..'), { recursive: true });
    await writeFile(here(path), text);
  }
}

async function readAll(folder: string): Promise<Record<string, string>> {
  const all: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) {
      const path = join(entry.parentPath, entry.name);
      all[path.slice(folder.length + 1)] = await readFile(path, 'utf8');
    }
  return all;
}

const awkward = [
  'plain.txt',
  'zwei wörter.txt',
  '日本語/ファイル.txt',
  'עברית.txt',
  '100% #1?&=+.txt',
  '🎉🎉.png',
  '-rf',
  ' spaces ',
  'quote\'"`$(x).txt',
  'a:b*c|d<e>.txt',
  'e\u0301.txt',
  '\u00e9.txt',
  '\ufeffbom.txt',
];

test('folders with names in any script go up and come down as they were, times included', async () => {
  const files = Object.fromEntries(
    [...awkward, `${'x'.repeat(251)}.txt`, `${'d/'.repeat(25)}deep.txt`].map((path) => [path, `in ${path}`]),
  );
  await write(files);
  await write({ 'empty.bin': '' });
  await utimes(here('plain.txt'), new Date('2001-02-03T04:05:06.789Z'), new Date('2001-02-03T04:05:06.789Z'));
  const up = await place.json<Report>(['upload', '-r', here()]);
  expect([up.done.length, up.failed]).toEqual([Object.keys(files).length + 1, []]);
  const down = await place.json<Report>(['download', '-r', `cadiz:/${name}`, '--to', here('back/')]);
  expect([down.done.length, down.failed]).toEqual([up.done.length, []]);
  expect(await readAll(here('back', name))).toEqual({ ...files, 'empty.bin': '' });
  expect((await stat(here('back', name, 'plain.txt'))).mtime.toISOString()).toBe('2001-02-03T04:05:06.789Z');
  const [file] = (await client().files.page({ folder: name, search: 'plain' })).files;
  expect(file).toMatchObject({ sha256State: 'verified', metadata: { mtime: '2001-02-03T04:05:06.789Z' } });
});

test('a directory that is named like an id is a directory, at the root and as a target that does not exist yet', async () => {
  const [one, another] = [randomUUID(), randomUUID()];
  await write({ [`${one}/x.txt`]: 'x', [`${one}/empty/.keep`]: '' });
  await rm(here(one, 'empty/.keep'));
  const { failed } = await place.json<Report>(['upload', '-r', here(one)]);
  expect(failed).toEqual([]);
  await place.ok(['upload', '-r', here(one), '--to', another]);
  await place.ok(['sync', here(one), `cadiz:/${another}/synced`]);
  const { stdout } = await place.ok(['ls', '-R']);
  expect(stdout.split('\n').filter((path) => path.includes(one) || path.includes(another))).toEqual([
    ...[one, another, `${another}/${one}`, `${another}/synced`]
      .flatMap((folder) => [folder, `${folder}/empty`])
      .map((folder) => `${folder}/`)
      .filter((path) => path !== `${another}/empty/`)
      .sort(),
    ...[`${one}/x.txt`, `${another}/${one}/x.txt`, `${another}/synced/x.txt`].sort(),
  ]);
  await place.ok(['rm', '-ry', one, another]);
});

test('with a key that is tied to a folder, that folder is the root, though a project is chosen', async () => {
  await client().upload('a', { name: 'a.txt', folder: `${name}/inner` });
  await client().upload('b', { name: 'b.txt', folder: name });
  const { id } = await client().folders.getByPath(name);
  const apiKey = await place.owner.createFolderKey(place.projectId, id);
  const how = { env: { CADIZ_API_KEY: apiKey, CADIZ_PROJECT_ID: place.projectId } };
  await write({ 'up/new/c.txt': 'c' });
  expect((await place.ok(['ls'], how)).stdout).toBe('inner/\nb.txt\n');
  expect((await place.ok(['tree'], how)).stdout).toContain('1 folder, 2 files, 2 B');
  await place.ok(['upload', '-r', here('up/new'), here('up/new/c.txt')], how);
  await place.ok(['mkdir', 'made'], how);
  await place.ok(['sync', here('up'), 'cadiz:/'], how);
  await place.ok(['mv', 'b.txt', 'made/'], how);
  await place.ok(['mv', 'made/b.txt', 'cadiz:/'], how);
  expect((await place.ok(['ls', '-R'], how)).stdout).toBe(
    'inner/\nmade/\nnew/\nb.txt\nc.txt\ninner/a.txt\nnew/c.txt\n',
  );
  await place.ok(['export', here('out')], how);
  expect(Object.keys(await readAll(here('out', 'files'))).sort()).toEqual([
    'b.txt',
    'c.txt',
    'inner/a.txt',
    'new/c.txt',
  ]);
  expect((await place.json<{ folderId: string }>(['ticket'], how)).folderId).toBe(id);
  // As after `cadiz login`, which remembers the key's project.
  const store = { env: { CADIZ_API_KEY: '', XDG_CONFIG_HOME: here('config') }, input: apiKey };
  await place.ok(['login', place.service.url], store);
  expect((await place.ok(['tree'], store)).stdout).toContain('3 folders, 4 files, 4 B');
});

test('empty folders go up and come down, too', async () => {
  await write({ 'with/a.txt': 'a' });
  await mkdir(here('empty/inner'), { recursive: true });
  const dry = await place.ok(['upload', '-rn', here()]);
  const lines = [`create   ${name}/empty/`, `create   ${name}/empty/inner/`, `upload   ${name}/with/a.txt`];
  expect(dry.stdout.trimEnd().split('\n')).toEqual(lines);
  await place.ok(['upload', '-r', here()]);
  expect((await place.ok(['upload', '-rn', here()])).stdout).toBe('');
  await place.ok(['download', '-r', name, '--to', here('back/')]);
  expect((await readdir(here('back', name), { recursive: true })).sort()).toEqual(
    (await readdir(here(), { recursive: true })).filter((path) => !path.startsWith('back')).sort(),
  );
});

test('--include and --exclude say what goes up and comes down', async () => {
  await write({ 'a.jpg': 'a', 'b.txt': 'b', 'raw/c.jpg': 'c', 'deep/raw/d.jpg': 'd', '.git/e.jpg': 'e' });
  await symlink('../b.txt', here('.git/link'));
  const dry = await place.ok(['upload', '-rn', here(), '--include', '*.jpg', '--exclude', '/raw', '--exclude', '.git']);
  expect([dry.stdout, dry.stderr]).toEqual([`upload   ${name}/a.jpg\nupload   ${name}/deep/raw/d.jpg\n`, '']);
  await place.ok(['upload', '-r', here(), '--exclude', '.git']);
  const rules = ['--to', here('back/'), '--include', 'raw', '--exclude', '/deep'];
  await place.ok(['download', '-r', `cadiz:/${name}`, ...rules]);
  expect(await readAll(here('back', name))).toEqual({ 'raw/c.jpg': 'c' });
});

test('relative paths begin in the working folder, which has no name of its own', async () => {
  await write({ 'in/a.txt': 'a' });
  const cwd = here();
  await place.ok(['upload', '-r', '.', '--to', name], { cwd: here('in') });
  await place.ok(['download', `${name}/a.txt`], { cwd });
  expect(await readFile(here('a.txt'), 'utf8')).toBe('a');
  expect((await place.ok(['sync', 'in', `cadiz:/${name}`, '--dry-run'], { cwd })).stdout).toBe('');
  await place.ok(['sync', `cadiz:/${name}`, 'synced'], { cwd });
  await place.ok(['export', 'exported', name], { cwd });
  await place.ok(['import', 'exported', '--to', `${name}/imported`], { cwd });
  expect(await readdir(here())).toEqual(['a.txt', 'exported', 'in', 'synced']);
  expect((await place.ok(['cat', `${name}/imported/a.txt`])).stdout).toBe('a');
  const missing = await place.cadiz(['upload', 'missing.txt'], { cwd });
  expect([missing.code, missing.stderr]).toEqual([3, 'Error: missing.txt: there is no such file or folder.\n']);
});

describe('a second time', () => {
  test('nothing is transferred, what changed is replaced, and what others have is theirs', async () => {
    await write({ 'a.txt': 'one', 'sub/b.txt': 'two' });
    await place.ok(['upload', '-r', here()]);
    expect(await place.json<Report>(['upload', '-r', here()])).toMatchObject({ done: [], unchanged: 2 });
    await client().files.update((await client().files.page({ folder: name, search: 'a.txt' })).files[0]?.id ?? '', {
      metadata: { tag: 'kept' },
    });
    await write({ 'a.txt': 'other' });
    expect(await place.json<Report>(['upload', '-r', here(), '--if-exists', 'skip'])).toMatchObject({
      done: [],
      unchanged: 1,
      skipped: [{ path: `${name}/a.txt` }],
    });
    expect((await place.cadiz(['upload', '-r', here(), '--if-exists', 'fail'])).code).toBe(5);
    const { id } = await client().folders.getByPath(name);
    for (const to of [name, `cadiz:id:${id}`]) {
      const refused = await place.cadiz(['upload', here('a.txt'), '--to', to, '--if-exists', 'fail']);
      expect(refused.stderr).toContain(`a.txt: cadiz:/${name}/a.txt exists already`);
    }
    const dry = await place.ok(['upload', '-rn', here()]);
    expect(dry.stdout).toBe(`replace  ${name}/a.txt\n`);
    expect(await place.json<Report>(['upload', '-r', here()])).toMatchObject({
      done: [{ path: `${name}/a.txt`, bytes: 5 }],
      unchanged: 1,
    });
    const { files } = await client().files.page({ folder: name, search: 'a.txt' });
    expect(files).toEqual([
      expect.objectContaining({
        fileSize: 5,
        metadata: { tag: 'kept', mtime: expect.any(String), 'mtime-of': expect.any(String) },
      }),
    ]);
    await write({ 'a.txt': 'third' });
    await place.ok(['upload', here('a.txt'), '--to', name, '--if-exists', 'keep']);
    expect((await client().files.page({ folder: name, search: 'a.txt' })).files).toHaveLength(2);
    const twins = await place.ok(['download', '-rn', name, '--to', here('out')]);
    expect(twins.stderr).toContain('1 file shares its name with a newer one, and is left out');
  });

  test('a download leaves another file here alone, unless it is told to replace it', async () => {
    await write({ 'a.txt': 'one' });
    await place.ok(['upload', here('a.txt'), '--to', name]);
    await place.ok(['download', `${name}/a.txt`, '--to', here('out')]);
    expect(await readFile(here('out'), 'utf8')).toBe('one');
    expect(await place.json<Report>(['download', `${name}/a.txt`, '--to', here('out')])).toMatchObject({
      unchanged: 1,
      done: [],
    });
    await writeFile(here('out'), 'mine');
    const refused = await place.cadiz(['download', `${name}/a.txt`, '--to', here('out')]);
    expect([refused.code, await readFile(here('out'), 'utf8')]).toEqual([5, 'mine']);
    await place.ok(['download', `${name}/a.txt`, '--to', here('out'), '--if-exists', 'replace']);
    expect(await readFile(here('out'), 'utf8')).toBe('one');
  });

  test.each(['fail', 'skip'])('a file that appears meanwhile is left alone (--if-exists %s)', async (ifExists) => {
    await write({ 'up/a.txt': 'one', 'up/b.txt': 'two' });
    await place.ok(['upload', '-r', here('up'), '--to', name]);
    const fetched = fetch;
    vi.stubGlobal('fetch', async (...args: Parameters<typeof fetch>) => {
      // The plan is made before the first URL is signed.
      if (String(args[0]).endsWith('/api/storage/files/urls')) await write({ 'out/up/a.txt': 'mine' });
      return fetched(...args);
    });
    const args = ['download', '-r', `${name}/up`, '--to', here('out'), '--if-exists', ifExists, '--json'];
    const { code, stdout } = await place.cadiz(args).finally(() => vi.unstubAllGlobals());
    expect([code, JSON.parse(stdout)]).toMatchObject([
      5,
      {
        done: [{ path: 'up/b.txt' }],
        failed: [{ path: 'up/a.txt', error: expect.stringMatching(/a\.txt: exists already\.$/) }],
      },
    ]);
    expect(await readFile(here('out/up/a.txt'), 'utf8')).toBe('mine');
  });

  test('--checksum looks at the bytes', async () => {
    await write({ 'a.txt': 'one' });
    await utimes(here('a.txt'), 1, 1);
    await place.ok(['upload', '-r', here()]);
    await writeFile(here('a.txt'), 'two');
    await utimes(here('a.txt'), 1, 1);
    expect(await place.json<Report>(['upload', '-r', here()])).toMatchObject({ unchanged: 1 });
    expect(await place.json<Report>(['upload', '-rc', here()])).toMatchObject({ unchanged: 0, done: [{ bytes: 3 }] });
    await utimes(here('a.txt'), 2, 2);
    expect(await place.json<Report>(['upload', '-rc', here()])).toMatchObject({ unchanged: 1, done: [] });
  });
});

describe('what cannot be transferred', () => {
  test('is told, and the rest goes up: links, pipes, names that no file can have', async () => {
    await write({ 'good.txt': 'good', 'back\\slash': 'x', 'new\nline': 'x', 'loop/in.txt': 'x' });
    await writeFile(Buffer.concat([Buffer.from(here('/')), Buffer.from([0x66, 0xff])]), 'x');
    await symlink('good.txt', here('link.txt'));
    await symlink('..', here('loop/up'));
    await symlink('nowhere', here('dangling'));
    const { code, stdout, stderr } = await place.spawn(['upload', '-r', here(), '--json']);
    const report: Report = JSON.parse(stdout);
    expect(code).toBe(5);
    expect(report.done.map(({ path }) => path).sort()).toEqual([`${name}/good.txt`, `${name}/loop/in.txt`]);
    expect(report.skipped.map(({ path }) => path).sort()).toEqual([
      `${name}/dangling`,
      `${name}/link.txt`,
      `${name}/loop/up`,
    ]);
    expect(report.failed.map(({ error }) => error).sort()).toEqual([
      expect.stringContaining('backslash'),
      expect.stringContaining('backslash'),
      'its name is not UTF-8.',
    ]);
    expect((await place.cadiz(['upload', '-r', here()])).stderr).toContain('new\\x0aline');
    expect(stderr).toContain('3 of 8 files failed');
    const followed = JSON.parse((await place.cadiz(['upload', '-rL', here(), '--json'])).stdout) as Report;
    expect(followed.done.map(({ path }) => path)).toEqual([`${name}/link.txt`]);
    expect(followed.skipped).toEqual([{ path: `${name}/loop/up`, why: 'it leads back to a folder that it is in.' }]);
    expect(followed.failed).toHaveLength(4);
  });

  test('is not what is beside it: a path that is too deep, folders that are one in a project', async () => {
    await write({ 'good.txt': 'good', 'sub/good.txt': 'good', [`${'d/'.repeat(40)}deep.txt`]: 'deep' });
    await write({ 'Été/a.txt': 'first', 'E\u0301TE\u0301/a.txt': 'second' });
    await mkdir(here(`empty/${'e/'.repeat(40)}`), { recursive: true });
    await mkdir(here('empty too'));
    for (const done of [3, 0]) {
      const { code, stdout } = await place.cadiz(['upload', '-r', here(), '--json']);
      const report: Report = JSON.parse(stdout);
      expect([code, report.done.length, report.unchanged]).toEqual([5, done, 3 - done]);
      const errors = report.failed.filter(({ path }) => !path.includes('/e/')).map(({ error }) => error);
      expect(errors.sort()).toEqual([
        expect.stringContaining('the maximum is 32'),
        expect.stringMatching(/^its folder and that of .* are one in a project/),
      ]);
    }
    expect((await place.ok(['ls', name])).stdout).toContain('empty too/\n');
    expect((await place.cadiz(['upload', '-rn', here()])).code).toBe(5);
  });

  test('a file that changes while it is read fails, and the next run uploads it', async () => {
    await write({ 'big.bin': randomBytes(80 * 1024 ** 2), 'small.txt': 'x' });
    const { code, stdout } = await place.spawn(['upload', '-r', here(), '--json', '--debug'], {
      // The upload in parts has begun, so the file has been hashed.
      onWords: once(/POST \/api\/storage\/uploads /, () => void writeFile(here('big.bin'), 'now small')),
    });
    const report: Report = JSON.parse(stdout);
    expect(code).toBe(5);
    expect(report.done.map(({ path }) => path)).toEqual([`${name}/small.txt`]);
    expect(report.failed).toEqual([
      expect.objectContaining({
        path: `${name}/big.bin`,
        error: expect.stringContaining('has changed since its upload began'),
      }),
    ]);
    expect(await place.json<Report>(['upload', '-r', here()])).toMatchObject({ done: [{ bytes: 9 }], unchanged: 1 });
  });

  test('a folder that may not be written, and a name that is a folder here, are told', async () => {
    await write({ 'a.txt': 'a', 'b.txt': 'b' });
    await place.ok(['upload', '-r', here()]);
    await mkdir(here('out', name, 'a.txt'), { recursive: true });
    const { code, stdout } = await place.spawn(['download', '-r', name, '--to', here('out'), '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([
      5,
      expect.objectContaining({
        done: [expect.objectContaining({ path: `${name}/b.txt` })],
        failed: [
          expect.objectContaining({ path: `${name}/a.txt`, error: expect.stringContaining('is a folder here') }),
        ],
      }),
    ]);
    const file = await place.cadiz(['download', '-r', name, '--to', here('a.txt')]);
    expect([file.code, file.stderr]).toEqual([5, expect.stringContaining('is not in a folder')]);
  });

  test('a folder that may not be read is told by the path that was given', async () => {
    await mkdir(here(), { recursive: true });
    await mkdir(here('locked'), { mode: 0 });
    // Root may read it all the same, unless it gives up that right.
    const rights = '-dac_override,-dac_read_search';
    const asAnybody = process.getuid?.() === 0 ? ['setpriv', `--bounding-set=${rights}`, `--inh-caps=${rights}`] : [];
    const { PATH = '' } = process.env;
    const env = { PATH, HOME: place.folder, CADIZ_URL: place.service.url, CADIZ_API_KEY: place.apiKey };
    const run = (...args: string[]) =>
      collect([...asAnybody, process.execPath, main, ...args], { env, cwd: here() }, place.folder);
    const { code, stdout } = await run('upload', '-r', 'locked', '--json');
    expect([code, JSON.parse(stdout).failed]).toEqual([
      5,
      [expect.objectContaining({ path: 'locked', error: expect.stringContaining('permission denied') })],
    ]);
    // Nothing is known of it: what is there is not missing here.
    await write({ 'a.txt': 'a' });
    await place.ok(['upload', here('a.txt'), '--to', `cadiz:/${name}`]);
    const synced = await run('sync', 'locked', `cadiz:/${name}`, '--delete', '--yes');
    expect([synced.code, synced.stdout]).toEqual([1, '']);
    expect((await place.ok(['ls', `cadiz:/${name}`])).stdout).toContain('a.txt');
    await place.ok(['upload', here('a.txt'), '--to', `cadiz:/${name}/locked`]);
    await write({ 'listed/b.txt': 'b' });
    await place.ok(['upload', '-r', here('listed'), '--to', `cadiz:/${name}`]);
    await chmod(here('listed'), 0o444);
    const above = await run('sync', '.', `cadiz:/${name}`, '--delete', '--yes', '--json');
    const whole = ['a.txt', 'listed/', 'listed/b.txt', 'locked/', 'locked/a.txt'];
    expect((await place.ok(['ls', '-R', `cadiz:/${name}`])).stdout.split('\n').filter(Boolean).sort()).toEqual(whole);
    const unread = ['listed/b.txt', 'locked'].map((path) => expect.objectContaining({ path }));
    expect([above.code, JSON.parse(above.stdout).failed]).toEqual([5, unread]);
    await chmod(here('listed'), 0o755);
    await rmdir(here('locked'));
  });

  test('names of this machine that do not exist, folders without -r and paths of the project are refused', async () => {
    expect((await place.cadiz(['upload', here('missing')])).code).toBe(3);
    await write({ 'a.txt': 'x' });
    expect((await place.cadiz(['upload', here()])).code).toBe(2);
    expect((await place.cadiz(['upload', 'cadiz:/a.txt'])).code).toBe(2);
    expect((await place.cadiz(['download', '-r', 'cadiz:/nowhere'])).code).toBe(3);
    await place.ok(['upload', here('a.txt'), '--to', `cadiz:/${name}`]);
    expect((await place.cadiz(['upload', here('a.txt'), '--to', `cadiz:/${name}/a.txt`])).code).toBe(2);
    expect((await place.cadiz(['download', `cadiz:/${name}`])).code).toBe(2);
  });
});

describe('Ctrl-C', () => {
  test('keeps the parts that have arrived, and the next run sends the others', async () => {
    const bytes = randomBytes(320 * 1024 ** 2);
    await write({ 'big.bin': bytes });
    const first = await place.spawn(['upload', here('big.bin'), '--to', name, '--debug'], {
      onWords: once(/POST \/api\/storage\/uploads\/(\S+)\/parts/, async (child) => {
        await expect.poll(async () => (await findBegun())?.parts.length).toBeGreaterThan(0);
        child.kill('SIGINT');
      }),
    });
    expect([first.code, first.stderr]).toEqual([130, expect.stringContaining('Run the same command again')]);
    expect(await findBegun()).toMatchObject({ fileName: 'big.bin', status: 'open' });
    const again = await place.ok(['upload', here('big.bin'), '--to', name, '--json', '--debug']);
    const second: Report = JSON.parse(again.stdout);
    expect(second.done).toHaveLength(1);
    expect(again.stderr).not.toContain('POST /api/storage/uploads ');
    expect((await findBegun())?.fileSize).not.toBe(bytes.length);

    const draft = here('out', `.cadiz-${second.done[0]?.id}.part`);
    await mkdir(here('out'));
    await writeFile(draft, bytes.subarray(0, 250 * 1024 ** 2));
    await place.ok(['download', `${name}/big.bin`, '--to', here('out')]);
    expect(sha256(await readFile(here('out/big.bin')))).toBe(sha256(bytes));
    expect(await readdir(here('out'))).toEqual(['big.bin']);
  });

  test('what was uploaded with a Content-Encoding is downloaded as it was sent', async () => {
    const bytes = gzipSync('hello hello hello');
    const facts = { projectId: place.projectId, fileName: 'page.html', mimeType: 'text/html', fileSize: bytes.length };
    const sent = { ...facts, folderId: (await client().folders.ensure([name]))[0]?.id ?? null };
    const ask = <T>(path: string, body: object) => client().request<T>({ method: 'POST', path, body });
    const { presignedUrl, storeKey } = await ask<{ presignedUrl: string; storeKey: string }>(
      '/api/storage/presign',
      sent,
    );
    const put = await fetch(presignedUrl, { method: 'PUT', body: bytes, headers: { 'content-encoding': 'gzip' } });
    expect(put.status).toBe(200);
    await ask('/api/storage/record', { ...sent, storeKey });
    await place.ok(['download', `${name}/page.html`, '--to', here('page.html')]);
    expect(bytes.equals(await readFile(here('page.html')))).toBe(true);
    await place.ok(['cat', `${name}/page.html`]);
  });

  test('a link in the place of a draft is not followed', async () => {
    await write({ 'a.txt': 'new', 'mine.txt': 'mine' });
    const { done } = await place.json<Report>(['upload', here('a.txt'), '--to', name]);
    await mkdir(here('out'));
    await symlink('../mine.txt', here('out', `.cadiz-${done[0]?.id}.part`));
    expect((await place.cadiz(['download', `${name}/a.txt`, '--to', here('out')])).code).toBe(5);
    expect(await readFile(here('mine.txt'), 'utf8')).toBe('mine');
  });

  test('a draft that is another name of a file, as a killed download leaves it, is removed and not written to', async () => {
    await write({ 'a.txt': 'the bytes' });
    const { done } = await place.json<Report>(['upload', here('a.txt'), '--to', name]);
    const draft = `.cadiz-${done[0]?.id}.part`;
    const leave = () => link(here('out/a.txt'), here('out', draft));
    const download = ['download', `${name}/a.txt`, '--to', here('out/'), '--if-exists', 'replace'];
    const sync = ['sync', `cadiz:/${name}`, here('out')];
    await place.ok(download);
    for (const command of [download, sync]) {
      await leave();
      await place.ok([...command, '--dry-run']);
      expect(await readdir(here('out'))).toEqual([draft, 'a.txt']);
      await place.ok(command);
      expect(await readdir(here('out'))).toEqual(['a.txt']);
    }
    await leave();
    await link(here('out/a.txt'), here('kept.txt'));
    await writeFile(here('out/a.txt'), 'words of my own');
    await place.ok(download);
    expect(await readAll(here('out'))).toEqual({ 'a.txt': 'the bytes' });
    expect(await readFile(here('kept.txt'), 'utf8')).toBe('words of my own');
  });

  test('a draft with other bytes is found out and thrown away', async () => {
    await write({ 'a.txt': 'the right bytes' });
    const { done } = await place.json<Report>(['upload', here('a.txt'), '--to', name]);
    await mkdir(here('out'));
    await writeFile(here('out', `.cadiz-${done[0]?.id}.part`), 'not right');
    await place.ok(['download', `${name}/a.txt`, '--to', here('out')]);
    expect(await readFile(here('out/a.txt'), 'utf8')).toBe('the right bytes');
  });
});

/** The upload in parts that is under way. */
async function findBegun() {
  const [begun] = (await client().uploads.page()).items;
  return begun && client().uploads.get(begun.uploadId);
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

function once<T extends unknown[]>(pattern: RegExp, run: (...args: T) => void) {
  let isOver = false;
  return (words: string, ...args: T) => {
    if (isOver || !pattern.test(words)) return;
    isOver = true;
    run(...args);
  };
}

test('two commands at once download the same file, and both have it whole', async () => {
  const bytes = randomBytes(8 * 1024 ** 2);
  await write({ 'a.bin': bytes });
  await place.ok(['upload', here('a.bin'), '--to', name]);
  const download = () => place.ok(['download', `cadiz:/${name}/a.bin`, '--to', here('out/')]);
  await Promise.all([download(), download(), download()]);
  expect(await readdir(here('out'))).toEqual(['a.bin']);
  expect((await readFile(here('out/a.bin'))).equals(bytes)).toBe(true);
});

test('a disk without space is told once, and what was done stays', async ({ skip }) => {
  const disk = mountLoopDisk(8);
  if (!('path' in disk)) return skip('no disk could be mounted');
  try {
    await write({ 'a.txt': 'small', 'b.bin': randomBytes(12 * 1024 ** 2), 'c.txt': 'small', 'd.txt': 'small' });
    await place.ok(['upload', '-r', here()]);
    const { code, stderr } = await place.cadiz(['download', '-r', name, '--to', disk.path, '--concurrency', '1']);
    expect([code, stderr.match(/no space is left/g)]).toEqual([5, ['no space is left']]);
    expect(stderr).toContain('3 of 4 files failed');
    expect(await readFile(join(disk.path, name, 'a.txt'), 'utf8')).toBe('small');
  } finally {
    disk.remove();
  }
});

test('a request for the URLs of many files that is refused fails only those that have waited for it', async () => {
  await write({ a: 'a', b: 'b', c: 'c' });
  await place.ok(['upload', '-r', here()]);
  const proxy = await startFaultProxy(Number(new URL(place.service.url).port));
  try {
    proxy.break(/urls$/, '403 expired');
    const args = ['download', '-r', `cadiz:/${name}`, '--to', here('down'), '--concurrency', '1', '--json'];
    const { code, stdout } = await place.cadiz(args, { env: { CADIZ_URL: proxy.url } });
    expect([code, JSON.parse(stdout)]).toMatchObject([5, { done: [{}, {}], failed: [{}] }]);
  } finally {
    await proxy.close();
  }
});

test('a folder that is deleted before its files are downloaded is told once', async () => {
  await write({ 'gone/a': 'a', 'gone/b': 'b', 'gone/c': 'c', kept: 'kept' });
  await place.ok(['upload', '-r', name]);
  const proxy = await startFaultProxy(Number(new URL(place.service.url).port));
  try {
    proxy.break(/urls$/, '503 with Retry-After', Number.POSITIVE_INFINITY);
    const downloading = place.cadiz(['download', '-r', `cadiz:/${name}`, '--to', here('down')], {
      env: { CADIZ_URL: proxy.url },
    });
    await expect.poll(() => proxy.requests).toContain('POST /api/storage/files/urls');
    await place.ok(['rm', '-r', '--yes', `cadiz:/${name}/gone`]);
    proxy.mend();
    const { code, stderr } = await downloading;
    expect(code).toBe(5);
    expect(stderr.match(/^Error: .*$/gm)).toEqual([
      expect.stringMatching(/gone\/[abc] and 2 more files: There is no such file\.$/),
      'Error: 3 of 4 files failed. Run the same command again to retry them.',
    ]);
  } finally {
    await proxy.close();
  }
  expect(await readAll(here('down', name))).toEqual({ kept: 'kept' });
});

describe('on a terminal', () => {
  test('bars show the files under way and all of them, and are gone at the end', async () => {
    await write({ 'film.mp4': randomBytes(150 * 1024 ** 2) });
    const { code, stdout } = await place.type(['upload', '-r', here()], []);
    expect(code).toBe(0);
    expect(stdout).toMatch(/░ +\d+% {2}film\.mp4/);
    expect(stdout).toMatch(/Uploading: [01] of 1 file/);
    expect(stdout.slice(stdout.lastIndexOf('\u001b[J') + 3)).toMatch(/^Uploaded 1 file, 157 MB, in .*\.\r\n$/);
  });

  test('errors are red, unless NO_COLOR is set', async () => {
    expect((await place.type(['cat', 'nowhere'], [])).stdout).toContain('\u001b[31mError:');
    const { stdout } = await place.type(['cat', 'nowhere'], [], { env: { NO_COLOR: '1' } });
    expect(stdout).toBe('Error: cadiz:/nowhere does not exist.\r\n');
  });
});

test('a working folder that is gone is told', async () => {
  const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"';
  const { PATH = '' } = process.env;
  const env = { PATH, HOME: place.folder, CADIZ_URL: place.service.url, CADIZ_API_KEY: place.apiKey };
  const words = ['bash', '-c', script, 'bash', process.execPath, main, 'ls', '--json'];
  const { code, stderr } = await collect(words, { env }, place.folder);
  expect([code, JSON.parse(stderr).error.message]).toEqual([1, 'the working folder: there is no such file or folder.']);
});

test('without a terminal there are no bars, and with --quiet no words', async () => {
  await write({ 'a.txt': 'x' });
  const { code, stdout, stderr } = await place.spawn(['upload', '-r', here()]);
  expect([code, stdout, stderr]).toEqual([0, '', expect.stringMatching(/^Uploaded 1 file, 1 B, in .*\n$/)]);
  expect(await place.ok(['upload', '-rq', here()])).toMatchObject({ stdout: '', stderr: '' });
});

describe('goes on when nobody reads', () => {
  /** Ends with the exit code of the command. */
  async function pipe(script: string, args: string[]): Promise<string> {
    const { PATH = '' } = process.env;
    const env = { PATH, HOME: place.folder, CADIZ_URL: place.service.url, CADIZ_API_KEY: place.apiKey };
    const words = ['bash', '-c', `${script}; echo $PIPESTATUS`, 'bash', process.execPath, main, ...args];
    return (await collect(words, { env }, place.folder)).stdout;
  }

  test('its words any more', async () => {
    await write({ 'a.txt': 'a' });
    await symlink('a.txt', here('link'));
    expect(await pipe('"$@" 2>&1 >/dev/null | true', ['upload', '-r', here()])).toBe('0\n');
    expect((await place.ok(['ls', name])).stdout).toBe('a.txt\n');
  });

  test('its plan any more, and ends as it would have; what only shows something ends with its reader', async () => {
    await write({ 'a.txt': 'a', 'back\\slash': 'x', 'b.txt': 'b' });
    expect(await pipe('"$@" 2>/dev/null | true', ['sync', here(), `cadiz:/${name}`])).toBe('5\n');
    expect((await place.ok(['ls', name])).stdout).toBe('a.txt\nb.txt\n');
    expect(await pipe('"$@" 2>/dev/null | true', ['rm', '-ry', '--json', name])).toBe('0\n');
    expect(await pipe('"$@" 2>/dev/null | true', ['events', '--follow', '--since', '1h'])).toBe('0\n');
  });
});
