import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { resumeFile } from '@cadiz/client/node';
import { afterEach, beforeEach, expect, test } from 'vitest';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadiz-resume-'));
  path = join(folder, 'state', 'uploads.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('what several programs remember in one file at the same time is all there', async () => {
  const module = fileURLToPath(new URL('../dist/node.js', import.meta.url));
  const program = `
    import { resumeFile } from ${JSON.stringify(module)};
    const [path, name] = process.argv.slice(-2);
    const [one, another] = [resumeFile(path), resumeFile(path)];
    for (let number = 0; number < 20; number++) {
      await Promise.all([one.set(name + number, { uploadId: name }), another.set(name + 'gone', { uploadId: name })]);
      await another.delete(name + 'gone');
    }`;
  const run = (name: string) =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', program, '--', path, name]);
  await Promise.all(['a', 'b', 'c'].map(run));
  const expected = ['a', 'b', 'c'].flatMap((name) => Array.from({ length: 20 }, (_, number) => name + number));
  expect(Object.keys(JSON.parse(await readFile(path, 'utf8'))).sort()).toEqual(expected.sort());
  expect(await readdir(join(folder, 'state'))).toEqual(['uploads.json']);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test.each(['', '{"a":', 'null', '7', '"words"'])('a damaged file counts as empty: %j', async (text) => {
  await mkdir(join(folder, 'state'));
  await writeFile(path, text);
  const store = resumeFile(path);
  expect(await store.get('a')).toBeUndefined();
  await store.set('a', { uploadId: 'u' });
  expect(await resumeFile(path).get('a')).toEqual({ uploadId: 'u' });
});

test('a lock that a program has left behind is taken over', async () => {
  const lock = `${path}.lock`;
  await mkdir(lock, { recursive: true });
  const before = new Date(Date.now() - 60_000);
  await utimes(lock, before, before);
  await resumeFile(path).set('a', { uploadId: 'u' });
  expect(await resumeFile(path).get('a')).toEqual({ uploadId: 'u' });
});
