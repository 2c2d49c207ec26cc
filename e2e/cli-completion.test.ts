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
  await client.upload('x', { name: "it's $1 `a`.txt", folder: 'odd' });
  const bin = join(place.folder, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'cadiz'), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
  await chmod(join(bin, 'cadiz'), 0o755);
});
afterAll(() => place.close());

const shellEnv = () => ({
  PATH: `${join(place.folder, 'bin')}:${process.env.PATH}`,
  HOME: place.folder,
  CADIZ_URL: place.service.url,
  CADIZ_API_KEY: place.apiKey,
});

const hasProgram = (name: string) =>
  collect([name, '--version'], {}, place.folder).then(
    () => true,
    () => false,
  );

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
  [
    ['ls', ''],
    ['odd/', 'press/'],
  ],
  [
    ['ls', '/press/'],
    ['/press/2027/', '/press/report.pdf'],
  ],
  [['upload', 'x', '--to', 'cadiz:/pr'], ['cadiz:/press/']],
  [['sync', 'cadiz:/press/20'], ['cadiz:/press/2027/']],
  [['cat', 'nowhere/'], []],
  [['--project', 'x', 'tra'], ['trash']],
  [['upload', '--if-exists=k'], ['--if-exists=keep']],
  [['upload', '--to=cadiz:/pr'], ['--to=cadiz:/press/']],
  [['download', '--to=x'], [':files']],
  [['nonsense', ''], []],
])('%j can become %j', async (words, expected) => expect(await offered(...words)).toEqual(expected));

test('paths of the project that the line names are offered', async () => {
  const other = await place.owner.createProject('Other');
  await place.ok(['mkdir', 'elsewhere'], { env: { CADIZ_API_KEY: other.apiKey } });
  const env = { CADIZ_API_KEY: await place.owner.createUntiedKey() };
  const offeredIn = async (...words: string[]) => (await place.ok(['__complete', ...words], { env })).stdout;
  expect(await offeredIn('ls', '--project', other.projectId, '/')).toBe('/elsewhere/\n');
  expect(await offeredIn('ls', `--project=${place.projectId}`, '/p')).toBe('/press/\n');
});

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
try cadiz cat '"cadiz:/press/2027/re'
try cadiz cat '"/odd/'
try cadiz cat "'/odd/"
try cadiz cat /odd/
try cadiz upload --if-exists = k
`;
  const { stdout, stderr } = await collect(['bash', '-c', script], { env: shellEnv() }, place.folder);
  const replies = [
    '/press/2027/release\\ notes.txt',
    'create',
    '/press/2027/release\\ notes.txt',
    'cadiz:/press/2027/release notes.txt',
    "/odd/it's \\$1 \\`a\\`.txt",
    "/odd/it'\\''s $1 `a`.txt",
    "/odd/it\\'s\\ \\$1\\ \\`a\\`.txt",
    'keep',
  ];
  expect([stdout.trimEnd().split('\n'), stderr]).toEqual([replies, '']);
});

test('fish completes paths, also in quotes', async ({ skip }) => {
  if (!(await hasProgram('fish'))) skip('fish is not installed');
  const script = `cadiz completion fish | source
complete -C 'cadiz cat cadiz:/press/2027/re'
complete -C 'cadiz cat press/2027/release\\ no'
complete -C 'cadiz cat "press/2027/re'
complete -C "cadiz cat '/odd/it"
complete -C 'cadiz upload --if-exists=k'
`;
  const { stdout } = await collect(['fish', '--no-config', '-c', script], { env: shellEnv() }, place.folder);
  expect(stdout.trimEnd().split('\n')).toEqual([
    'cadiz:/press/2027/release notes.txt',
    'press/2027/release notes.txt',
    'press/2027/release notes.txt',
    "/odd/it's $1 `a`.txt",
    '--if-exists=keep',
  ]);
});

test.each(['zsh', 'fish'])('%s gets a script that asks the command', async (shell) => {
  expect((await place.ok(['completion', shell])).stdout).toContain('cadiz __complete');
});

test('no other shell does', async () => expect((await place.cadiz(['completion', 'csh'])).code).toBe(2));
