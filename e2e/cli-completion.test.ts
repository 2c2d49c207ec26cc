import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@cadiz/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { collect, main, startWorkplace, type Workplace } from './cli.ts';

let place: Workplace;
beforeAll(async () => {
  place = await startWorkplace();
  const client = createClient({ baseUrl: place.service.url, apiKey: place.apiKey });
  await client.upload('x', { name: 'release notes.txt', folder: 'press/2027' });
  await client.upload('x', { name: 'report.pdf', folder: 'press' });
  const bin = join(place.folder, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'cadiz'), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
  await chmod(join(bin, 'cadiz'), 0o755);
});
afterAll(() => place.close());

/** What `cadiz __complete` offers for these words. */
const offered = async (...words: string[]) =>
  (await place.ok(['__complete', ...words])).stdout.split('\n').filter(Boolean);

test.each([
  [['up'], ['upload']],
  [['tra'], ['trash']],
  [
    ['trash', ''],
    ['list', 'restore', 'empty'],
  ],
  [['upload', '--if'], ['--if-exists']],
  [['upload', '--if-exists', 'k'], ['keep']],
  [['upload', ''], [':files']],
  [['download', '--to', ''], [':files']],
  [['ls', ''], ['press/']],
  [
    ['ls', '/press/'],
    ['/press/2027/', '/press/report.pdf'],
  ],
  [['upload', 'x', '--to', 'cadiz:/pr'], ['cadiz:/press/']],
  [['sync', 'cadiz:/press/20'], ['cadiz:/press/2027/']],
  [['cat', 'nowhere/'], []],
  [['nonsense', ''], []],
])('%j can become %j', async (words, expected) => expect(await offered(...words)).toEqual(expected));

test('without credentials, no path is offered and nothing is said', async () => {
  expect(await place.spawn(['__complete', 'ls', ''], { env: { CADIZ_API_KEY: '' } })).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  });
});

test('bash completes paths, whose words it splits at colons, and quotes names', async () => {
  const script = `source <(cadiz completion bash)
compopt() { :; }
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cadiz; printf '%s\\n' "\${COMPREPLY[@]}"; }
try cadiz cat cadiz : /press/2027/re
try cadiz keys cr
try cadiz cat /press/2027/release\\\\
`;
  const env = {
    PATH: `${join(place.folder, 'bin')}:${process.env.PATH}`,
    HOME: place.folder,
    CADIZ_URL: place.service.url,
    CADIZ_API_KEY: place.apiKey,
  };
  const { stdout, stderr } = await collect(['bash', '-c', script], { env }, place.folder);
  expect([stdout, stderr]).toEqual(['/press/2027/release\\ notes.txt\ncreate\n/press/2027/release\\ notes.txt\n', '']);
});

test.each(['zsh', 'fish'])('%s gets a script that asks the command', async (shell) => {
  expect((await place.ok(['completion', shell])).stdout).toContain('cadiz __complete');
});

test('no other shell does', async () => expect((await place.cadiz(['completion', 'csh'])).code).toBe(2));
