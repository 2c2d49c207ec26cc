import { type Context, connect } from './context.ts';
import { isCommand, isGroup, specOf } from './parse.ts';
import { findFolderAt, isRemote, joinPath } from './paths.ts';
import { type CommandName, commands, globalOptions, groups, type OptionSpec } from './table.ts';
import { readPages } from './transfer/remote-tree.ts';

/** What a shell completes with the files of this machine. */
const localFiles = ':files';

/**
 * What the last word of a line can become. Paths of the project are looked up; without credentials there are none.
 *
 * @param words after `cadiz`; the last one is being written, and may be empty
 */
export async function complete(context: Context, words: readonly string[]): Promise<string[]> {
  const last = words.at(-1) ?? '';
  const before = words.slice(0, -1).filter((word, index) => !word.startsWith('-') && words[index - 1] !== '--project');
  const [first = '', second = ''] = before;
  const starting = (candidates: readonly string[]) => candidates.filter((one) => one.startsWith(last));
  if (before.length === 0 && !last.startsWith('-')) {
    const names = Object.keys(commands).filter((name) => !name.includes(' '));
    return starting([...names, ...Object.keys(groups), 'help'].sort());
  }
  if (first === 'help' && before.length === 1)
    return starting([...new Set(Object.keys(commands).map((name) => name.split(' ')[0] ?? ''))]);
  if (isGroup(first) && before.length === 1 && !isCommand(first)) {
    const names = Object.keys(commands).filter((name) => name.startsWith(`${first} `));
    return starting(names.map((name) => name.slice(first.length + 1)));
  }
  const name = isCommand(first) ? first : `${first} ${second}`;
  if (!isCommand(name)) return [];
  const options: Record<string, OptionSpec> = { ...globalOptions, ...specOf(name).options };
  const previous = words.at(-2) ?? '';
  const asked = previous.startsWith('--') ? options[previous.slice(2)] : undefined;
  if (asked?.type === 'string') return completeValue(context, asked, last);
  const [written = '', option = '', value = ''] = /^--([^=]+)=(.*)$/s.exec(last) ?? [];
  const assigned = options[option];
  if (written && assigned?.type === 'string') {
    const values = await completeValue(context, assigned, value);
    return values.map((one) => (one === localFiles ? one : `--${option}=${one}`));
  }
  if (last.startsWith('-')) return starting(Object.keys(options).map((option) => `--${option}`));
  return completeArgument(context, name, last);
}

async function completeValue(context: Context, { kind, words = [] }: OptionSpec, last: string): Promise<string[]> {
  if (kind === 'remote') return completePath(context, last);
  if (kind === 'local') return [localFiles];
  const candidates = kind === 'event' ? (await import('@cadiz/contract')).feedTypes : words;
  return candidates.filter((one) => one.startsWith(last));
}

async function completeArgument(context: Context, name: CommandName, last: string): Promise<string[]> {
  if (name === 'completion') return ['bash', 'zsh', 'fish'].filter((shell) => shell.startsWith(last));
  const { kind = 'other' } = specOf(name);
  if (kind === 'remote' || (kind === 'either' && isRemote(last))) return completePath(context, last);
  return kind === 'other' ? [] : [localFiles];
}

/** Folders and files of the project, with the prefix that was written. */
async function completePath(context: Context, last: string): Promise<string[]> {
  const scheme = isRemote(last) ? 'cadiz:' : '';
  const written = last.slice(scheme.length);
  const slash = written.lastIndexOf('/') + 1;
  try {
    const client = await connect(context);
    const folder = await findFolderAt(client, joinPath(...written.slice(0, slash).split('/')));
    if (!folder) return [];
    for await (const { folders, files } of readPages(client, folder.id)) {
      const names = [...folders.map(({ name }) => `${name}/`), ...files.map(({ fileName }) => fileName)];
      // One page is enough for a person to choose from. A name with a line break does not fit on a line.
      return names
        .filter((one) => one.startsWith(written.slice(slash)) && !one.includes('\n'))
        .map((one) => scheme + written.slice(0, slash) + one);
    }
  } catch {
    // A shell that completes shows no errors: nothing is offered.
  }
  return [];
}
