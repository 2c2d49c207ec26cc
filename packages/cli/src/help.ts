import { isCommand, isGroup, specOf, toSynopsis } from './parse.ts';
import {
  type CommandName,
  commands,
  environment,
  exitStatus,
  globalOptions,
  groups,
  type OptionSpec,
  sections,
} from './table.ts';

const indent = '    ';

/** The help of a command or a group, or the overview. */
export function toHelp(name: string | undefined, width = 80): string {
  if (name === undefined) return toOverview(width);
  if (isCommand(name)) return toManual(name, width);
  return toGroupHelp(name, width);
}

function toOverview(width: number): string {
  const lists = sections.map(([title, names]) => {
    const rows = names.map(
      (name) => [name, isGroup(name) ? (groups[name] ?? '') : specOf(name as CommandName).summary] as const,
    );
    return `${title}\n${toRows(rows, width)}`;
  });
  return `cadiz: media storage from the command line

Usage: cadiz COMMAND [OPTIONS] [ARGUMENTS]

${lists.join('\n')}
Paths
${toParagraphs(pathParagraphs, width)}
Options of every command
${toRows(toOptionRows(globalOptions), width)}
Environment
${toRows(environment, width)}
Exit status
${toRows(
  exitStatus.map(([code, what]) => [String(code), what] as const),
  width,
)}
cadiz COMMAND --help shows the manual of a command.
`;
}

/** What a path looks like, wherever one is written. */
export const pathParagraphs: readonly string[] = [
  'A path that begins with cadiz: is in the project, such as cadiz:/press/2027/launch.mp4; cadiz:/ is its root, or that of a key that is tied to a folder. Any other path is on this machine. Commands that only know the project, such as ls and rm, also take /press/2027 without cadiz:. Files of one folder may share a name; cadiz:id:ID names one of them, or a folder, by its id.',
];

function toGroupHelp(name: string, width: number): string {
  const rows = namesOf(name).map((command) => [command, specOf(command).summary] as const);
  return `cadiz ${name}: ${groups[name]}\n\n${toRows(rows, width)}\ncadiz ${name} COMMAND --help shows the manual of a command.\n`;
}

/** The commands of a group. */
export const namesOf = (group: string): CommandName[] =>
  (Object.keys(commands) as CommandName[]).filter((command) => command.startsWith(`${group} `));

function toManual(name: CommandName, width: number): string {
  const { summary, description, options, examples } = specOf(name);
  const parts = [
    ['NAME', toParagraphs([`cadiz ${name} - ${summary}`], width)],
    ['SYNOPSIS', toParagraphs([toSynopsis(name)], width)],
    ['DESCRIPTION', toParagraphs(description, width)],
    options && ['OPTIONS', toRows(toOptionRows(options), width)],
    ['OPTIONS OF EVERY COMMAND', toRows(toOptionRows(globalOptions), width)],
    examples && [
      'EXAMPLES',
      examples.map(([command, what]) => `${indent}${command}\n${indent}${indent}${what}\n`).join(''),
    ],
  ].filter((part) => part !== undefined);
  return parts.map(([title, text]) => `${title}\n${text}`).join('\n');
}

/** Rows of help: how each option is written, and what it does. */
export function toOptionRows(options: Record<string, OptionSpec>): (readonly [string, string])[] {
  return Object.entries(options).map(([option, { short, value, words, help }]) => {
    const names = [short && `-${short}`, `--${option}`].filter(Boolean).join(', ');
    const choice = words ? `${help} (${words.join(', ')})` : help;
    return [`${names}${value ? ` ${value}` : ''}`, choice] as const;
  });
}

function toRows(rows: readonly (readonly [string, string])[], width: number): string {
  const column = Math.min(28, Math.max(...rows.map(([name]) => name.length)) + 2);
  return rows
    .map(([name, text]) => {
      const lines = wrap(text, width - indent.length - column);
      const gap = `${indent}${' '.repeat(column)}`;
      const fits = name.length + 2 <= column;
      const first = fits
        ? `${indent}${name.padEnd(column)}${lines[0] ?? ''}`
        : `${indent}${name}\n${gap}${lines[0] ?? ''}`;
      return [first, ...lines.slice(1).map((line) => gap + line)].map((line) => `${line.trimEnd()}\n`).join('');
    })
    .join('');
}

function toParagraphs(paragraphs: readonly string[], width: number): string {
  return paragraphs
    .map((text) =>
      wrap(text, width - indent.length)
        .map((line) => `${indent}${line}\n`)
        .join(''),
    )
    .join('\n');
}

function wrap(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line && line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines;
}
