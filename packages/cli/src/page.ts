import { namesOf, pathParagraphs, toOptionRows } from './help.ts';
import { isGroup, specOf, toSynopsis } from './parse.ts';
import { type CommandName, environment, exitStatus, globalOptions, groups, sections } from './table.ts';

/** docs/cli.md: the help of every command as a page. */
export function toPage(): string {
  const overview = sections.map(
    ([title, names]) => `| **${title}** | ${names.map((name) => `[${name}](#${name})`).join(', ')} |`,
  );
  const manuals = sections.flatMap(([, names]) =>
    names.map((name) => (isGroup(name) ? toGroup(name) : toManual(name as CommandName, '##'))),
  );
  return `# The command \`cadiz\`

<!-- Written by packages/cli/scripts/write-docs.mjs from the command's own help: change packages/cli/src/table.ts instead. -->

Transfers and administers files from the command line, and runs the service. Until it is on npm, make it in a clone:
\`npm run build\`, then \`npm link -w packages/cli\`. Node 20.19 or newer (not 21, nor 22 before 22.12).

\`\`\`sh
cadiz login https://media.example.com
cadiz upload -r photos --to cadiz:/2027
cadiz sync --delete site cadiz:/site
\`\`\`

| | |
|---|---|
${overview.join('\n')}

\`cadiz --help\` shows an overview, \`cadiz COMMAND --help\` what is said here of a command.

## Paths

${pathParagraphs.join('\n\n')}

## Output

Data goes to standard output, words to standard error; with \`--json\`, data is one JSON document (of \`events\` and \`listen\`, one on each line), and
an error is one on standard error (\`{"error": {"message", "code", "requestId"}}\`). On a terminal, transfers show bars for the files under way and for all of them; elsewhere, a
line every five seconds. A reader that has seen enough, such as \`head\`, ends commands that only show something; a transfer or a change goes on without it.
Secrets are read from standard input, a terminal that does not show them, or the environment, never from arguments.

## Options of every command

${toTable(toOptionRows(globalOptions))}

## Environment

${toTable(environment)}

## Exit status

${toTable(exitStatus.map(([code, what]) => [String(code), what] as const))}

${manuals.join('\n')}`;
}

const toGroup = (name: string): string =>
  `## ${name}\n\n${groups[name]}.\n\n${namesOf(name)
    .map((command) => toManual(command, '###'))
    .join('\n')}`;

function toManual(name: CommandName, level: string): string {
  const { summary, description, options, examples } = specOf(name);
  const parts = [
    `${level} ${name}`,
    `${summary}.`,
    `\`\`\`text\n${toSynopsis(name)}\n\`\`\``,
    ...description,
    options && toTable(toOptionRows(options)),
    examples && `\`\`\`sh\n${examples.map(([command, what]) => `${command}  # ${what}`).join('\n')}\n\`\`\``,
  ];
  return `${parts.filter((part) => part !== undefined).join('\n\n')}\n`;
}

const toTable = (rows: readonly (readonly [string, string])[]): string =>
  ['| | |', '|---|---|', ...rows.map(([name, what]) => `| \`${name}\` | ${what.replaceAll('|', '\\|')} |`)].join('\n');
