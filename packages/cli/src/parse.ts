import { type ParseArgsConfig, parseArgs } from 'node:util';
import { countEdits } from '@cadiz/server/count-edits';
import { usageFailure } from './failure.ts';
import {
  type CommandName,
  type CommandSpec,
  commands,
  type Given,
  globalOptions,
  groups,
  type OptionSpec,
} from './table.ts';

export const specOf = (name: CommandName): CommandSpec => commands[name];

export const isCommand = (name: string): name is CommandName => Object.hasOwn(commands, name);
export const isGroup = (name: string): boolean => Object.hasOwn(groups, name);

/** Which command was asked for, and everything else that was written. */
export interface Asked {
  /** The command, or a group whose help is asked for; undefined if neither was written. */
  name: string | undefined;
  rest: string[];
}

/** Options of every command and the words of the line, whatever else there is: before it is known which command it is for. */
export function readLoosely(argv: readonly string[]) {
  const options = toParsed(globalOptions);
  return parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true });
}

/**
 * Finds the words of the command, which options of every command may precede.
 *
 * @throws Failure if there is no such command
 */
export function findCommand(argv: readonly string[]): Asked {
  const { tokens } = readLoosely(argv);
  const words = tokens.filter(({ kind }) => kind === 'positional');
  const [first, second] = words.map((token) => (token.kind === 'positional' ? token.value : ''));
  if (first === undefined) return { name: undefined, rest: [...argv] };
  const without = (count: number) => {
    const taken = new Set(words.slice(0, count).map(({ index }) => index));
    return argv.filter((_, index) => !taken.has(index));
  };
  if (isCommand(first)) return { name: first, rest: without(1) };
  if (!isGroup(first))
    throw usageFailure(
      `There is no command ${first}. ${suggest(first, [...Object.keys(commands), ...Object.keys(groups)])}`,
    );
  if (second === undefined) {
    const list = `${first} list`;
    const asksForHelp = readLoosely(argv).values.help === true;
    return { name: asksForHelp || !isCommand(list) ? first : list, rest: without(1) };
  }
  const name = `${first} ${second}`;
  if (isCommand(name)) return { name, rest: without(2) };
  throw usageFailure(`There is no command ${name}. See cadiz ${first} --help.`);
}

/** Reads what a command was given. @throws Failure, and errors of `parseArgs` */
export function parseCommand(name: CommandName, argv: readonly string[]): Given<CommandName> {
  const { options = {}, counts = [0, 0] } = specOf(name);
  const all: Record<string, OptionSpec> = { ...globalOptions, ...options };
  const { values, positionals } = parseArgs({ args: [...argv], options: toParsed(all), allowPositionals: true });
  for (const [option, { type, multiple, words, kind }] of Object.entries(all)) {
    values[option] ??= type === 'boolean' ? false : multiple ? [] : undefined;
    const given = [values[option]].flat().filter((value) => typeof value === 'string');
    const wrong = words && given.find((value) => !words.includes(value));
    if (wrong !== undefined) throw usageFailure(`--${option} ${wrong} must be one of ${words?.join(', ')}.`);
    if (given.includes('') && (kind === 'local' || kind === 'remote')) throw usageFailure(`--${option} is empty.`);
  }
  const [least, most] = counts;
  // A script has not set its variable. As a path, it would be the working folder, to be deleted by a sync, or the root.
  if (positionals.includes('')) throw usageFailure(`An argument is empty: ${toSynopsis(name)}`);
  if (!values.help && positionals.length < least) throw usageFailure(`An argument is missing: ${toSynopsis(name)}`);
  if (!values.help && positionals.length > most)
    throw usageFailure(`Unexpected argument ${positionals[most]}: ${toSynopsis(name)}`);
  return { name, args: positionals, options: values as unknown as Given<CommandName>['options'] };
}

/** Such as `cadiz ls [PATH]`. */
export function toSynopsis(name: CommandName): string {
  const spec = specOf(name);
  return ['cadiz', name, spec.options && '[OPTIONS]', spec.arguments].filter(Boolean).join(' ');
}

function toParsed(options: Record<string, OptionSpec>): NonNullable<ParseArgsConfig['options']> {
  return Object.fromEntries(
    Object.entries(options).map(([name, { type, short, multiple, default: value }]) => [
      name,
      { type, ...(short && { short }), ...(multiple && { multiple }), ...(value !== undefined && { default: value }) },
    ]),
  );
}

/** What to do about a command that does not exist: take the closest one, if there is any, or look at the list. */
function suggest(word: string, names: readonly string[]): string {
  const close = names.filter((name) => countEdits(word, name) <= Math.max(1, Math.floor(name.length / 3)));
  const [best] = close.sort((a, b) => countEdits(word, a) - countEdits(word, b));
  return best ? `Did you mean ${best}?` : 'cadiz --help lists all.';
}
