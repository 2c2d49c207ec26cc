import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { toHelp } from './help.ts';
import { toPage } from './page.ts';
import { findCommand, isCommand, isGroup, parseCommand, specOf } from './parse.ts';
import { type CommandName, commands, globalOptions, groups, type OptionSpec, sections } from './table.ts';

const names = Object.keys(commands) as CommandName[];

test('every command is in one section of the overview, by itself or with its group', () => {
  const shown = sections.flatMap(([, entries]) => entries);
  expect(new Set(shown).size).toBe(shown.length);
  expect(names.filter((name) => !shown.includes(name) && !shown.includes(name.split(' ')[0] ?? ''))).toEqual([]);
  expect(shown.filter((name) => !isCommand(name) && !isGroup(name))).toEqual([]);
  expect(Object.keys(groups).filter((group) => !names.some((name) => name.startsWith(`${group} `)))).toEqual([]);
});

test.each(names)('%s has no option that another has taken', (name) => {
  const own: Record<string, OptionSpec> = specOf(name).options ?? {};
  expect(Object.keys(own).filter((option) => option in globalOptions)).toEqual([]);
  const shorts = [...Object.values<OptionSpec>(globalOptions), ...Object.values(own)].flatMap(
    ({ short }) => short ?? [],
  );
  expect(new Set(shorts).size).toBe(shorts.length);
});

test.each(names)('the manual of %s fits on a terminal of 80 columns', (name) => {
  const wide = toHelp(name)
    .split('\n')
    .filter((line) => line.length > 80 && !line.startsWith('    cadiz ') && !line.startsWith('    curl'));
  expect(wide).toEqual([]);
});

test('options of every command may come before it', () => {
  expect(findCommand(['--json', '--project', 'ls', 'keys', 'list', '-q'])).toEqual({
    name: 'keys list',
    rest: ['--json', '--project', 'ls', '-q'],
  });
  expect(parseCommand('ls', ['--project', 'x', '-l', 'a']).options).toMatchObject({
    project: 'x',
    long: true,
    recursive: false,
  });
});

test('docs/cli.md says what the help says: npm run docs writes it', () => {
  expect(readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8')).toBe(toPage());
});
