import type { Run } from './command.ts';
import type { Context, Surroundings } from './context.ts';
import { exitCodes, Failure, toTold } from './failure.ts';
import { awaitFirstAnswer } from './first-answer.ts';
import { createOutput, type Output } from './output.ts';
import { findCommand, isCommand, parseCommand, readLoosely } from './parse.ts';
import type { CommandName, Given } from './table.ts';

/** The code of each command, loaded when it runs. */
const loaders: { [K in CommandName]: () => Promise<{ run: Run<K> }> } = {
  upload: () => import('./commands/upload.ts'),
  download: () => import('./commands/download.ts'),
  sync: () => import('./commands/sync.ts'),
  serve: () => import('./commands/serve.ts'),
  doctor: () => import('./commands/doctor.ts'),
  'users list': () => import('./commands/users.ts'),
  'users reset-password': () => import('./commands/users.ts'),
  'users remove-second-factor': () => import('./commands/users.ts'),
  'users remove-passkeys': () => import('./commands/users.ts'),
  'users verify-email': () => import('./commands/users.ts'),
  'users end-sessions': () => import('./commands/users.ts'),
  'users disable': () => import('./commands/users.ts'),
  'users enable': () => import('./commands/users.ts'),
  'users delete': () => import('./commands/users.ts'),
  'admin migrate': () => import('./commands/admin-migrate.ts'),
  'admin backup': () => import('./commands/admin-backup.ts'),
  'admin restore': () => import('./commands/admin-restore.ts'),
  'admin verify': () => import('./commands/admin-verify.ts'),
  'admin accept': () => import('./commands/admin-accept.ts'),
  'queue list': () => import('./commands/queue.ts'),
  'queue retry': () => import('./commands/queue.ts'),
  export: () => import('./commands/export.ts'),
  import: () => import('./commands/import.ts'),
  completion: () => import('./commands/completion.ts'),
  login: () => import('./commands/login.ts'),
  logout: () => import('./commands/logout.ts'),
  status: () => import('./commands/status.ts'),
  'projects list': () => import('./commands/projects-list.ts'),
  'projects create': () => import('./commands/projects-create.ts'),
  'projects use': () => import('./commands/projects-use.ts'),
  'keys list': () => import('./commands/keys-list.ts'),
  'keys create': () => import('./commands/keys-create.ts'),
  'keys revoke': () => import('./commands/keys-revoke.ts'),
  ls: () => import('./commands/ls.ts'),
  tree: () => import('./commands/tree.ts'),
  cat: () => import('./commands/cat.ts'),
  mv: () => import('./commands/mv.ts'),
  rm: () => import('./commands/rm.ts'),
  mkdir: () => import('./commands/mkdir.ts'),
  url: () => import('./commands/url.ts'),
  link: () => import('./commands/link.ts'),
  'links list': () => import('./commands/links-list.ts'),
  'links delete': () => import('./commands/links-delete.ts'),
  ticket: () => import('./commands/ticket.ts'),
  'tickets list': () => import('./commands/tickets-list.ts'),
  'tickets revoke': () => import('./commands/tickets-revoke.ts'),
  events: () => import('./commands/events.ts'),
  listen: () => import('./commands/listen.ts'),
  'trash list': () => import('./commands/trash-list.ts'),
  'trash restore': () => import('./commands/trash-restore.ts'),
  'trash empty': () => import('./commands/trash-empty.ts'),
};

/** Commands that end when nobody reads their output: printing is all they do, or they would never end. */
const endsUnread: ReadonlySet<string | undefined> = new Set<CommandName>([
  'ls',
  'tree',
  'cat',
  'events',
  'listen',
  'status',
  'projects list',
  'keys list',
  'links list',
  'tickets list',
  'trash list',
  'users list',
  'queue list',
]);

/** Commands that say themselves what they are waiting for, and those of the service's own programs. */
const waitsAloud = /^(?:events|listen|serve|doctor|users|queue|admin)\b/;

/** The name under which scripts ask for completions; it is in no help. */
const completeCommand = '__complete';

/** Runs the command that this process was started with, and sets its exit code. */
export async function runProcess(): Promise<void> {
  const { stdin, stdout, stderr, env } = process;
  const argv = process.argv.slice(2);
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The service goes on without being heard.
    if (nameOf(argv) === 'serve') return;
    if (error.code !== 'EPIPE') endBecauseOf(argv, 'standard output', error);
    // A reader that has seen enough, such as `head`, closes the pipe. That must not end a transfer in the middle.
    if (endsUnread.has(nameOf(argv))) process.exit(exitCodes.ok);
  });
  // If nobody reads the messages, the work goes on without them.
  stderr.on('error', () => undefined);
  const surroundings = { stdin, stdout, stderr, env, cwd: readCwd(argv), onInterrupt: interrupts() };
  const code = await runCommand(argv, surroundings);
  // A command that has set none, such as `serve`, may still be running, and end with a code of its own.
  if (code !== exitCodes.ok) process.exitCode = code;
}

/** The folder that the process was started in. Ends it if that has been deleted. */
function readCwd(argv: readonly string[]): string {
  try {
    return process.cwd();
  } catch (error) {
    return endBecauseOf(argv, 'the working folder', error as NodeJS.ErrnoException);
  }
}

/** Ends the process because of what it was given by its surroundings, such as standard output on a full disk. */
function endBecauseOf(argv: readonly string[], path: string, error: NodeJS.ErrnoException): never {
  const { stdout, stderr, env } = process;
  const output = createOutput({ ...readOutputOptions(argv), stdout, stderr, env });
  output.fail(toTold(Object.assign(error, { path })));
  process.exit(exitCodes.failed);
}

/** The command that was asked for, if there is such a one. */
function nameOf(argv: readonly string[]): string | undefined {
  try {
    return findCommand(argv).name;
  } catch {
    return undefined;
  }
}

/**
 * Runs a command in the given surroundings. Only what runs a program of the service (`serve`, `doctor`, `users`, `queue`
 * and `admin`) uses those of the process as well.
 *
 * @returns its exit code; errors go to standard error
 */
export async function runCommand(argv: readonly string[], surroundings: Surroundings): Promise<number> {
  const output = createOutput({ ...readOutputOptions(argv), ...surroundings });
  const firstAnswer = awaitFirstAnswer((origin) => {
    if (output.isTerminal && !output.isJson && !waitsAloud.test(nameOf(argv) ?? ''))
      output.say(`No answer from ${origin} yet. Still trying …`);
  });
  try {
    return (await findAndRun(argv, { ...surroundings, output })) ?? exitCodes.ok;
  } catch (error) {
    return tell(output, error, firstAnswer.unreachable());
  } finally {
    firstAnswer.stop();
  }
}

function readOutputOptions(argv: readonly string[]) {
  const { json, quiet, debug } = readLoosely(argv).values;
  return { json: json === true, quiet: quiet === true, debug: debug === true };
}

type Prepared = Omit<Context, 'project' | 'yes'>;

async function findAndRun(argv: readonly string[], surroundings: Prepared): Promise<number | undefined> {
  const { stdout, output } = surroundings;
  if (argv[0] === '--version') return write(stdout, `${await readVersion()}\n`);
  if (argv[0] === completeCommand) return completeLine(argv.slice(1), surroundings);
  const words = argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv;
  const { name, rest } = findCommand(words);
  const asksForHelp = readLoosely(rest).values.help === true;
  if (name === undefined || !isCommand(name) || (asksForHelp && parseCommand(name, rest).options.help)) {
    const { toHelp } = await import('./help.ts');
    const text = toHelp(name, Math.min(100, stdout.columns || 80));
    if (asksForHelp || words !== argv || name !== undefined) return write(stdout, text);
    surroundings.stderr.write(text);
    throw new Failure(exitCodes.usage, 'No command was given.');
  }
  const given = parseCommand(name, rest);
  const { project, yes } = given.options;
  const { run } = (await loaders[name]()) as { run: Run<CommandName> };
  output.debug(`cadiz ${name}`);
  return (await run({ ...surroundings, project, yes }, given as Given<CommandName>)) ?? undefined;
}

function write(stdout: Surroundings['stdout'], text: string): undefined {
  stdout.write(text);
}

/** What the scripts of `cadiz completion` ask, with the words of the line: the last one is being written. */
async function completeLine(words: string[], surroundings: Prepared): Promise<undefined> {
  const { complete } = await import('./complete.ts');
  const { project } = readLoosely(words.slice(0, -1)).values;
  const given = typeof project === 'string' ? project : undefined;
  const lines = await complete({ ...surroundings, project: given, yes: false }, words);
  write(surroundings.stdout, lines.map((line) => `${line}\n`).join(''));
}

function tell(output: Output, error: unknown, unreachable: string | undefined): number {
  const told = toTold(error, unreachable);
  output.fail(told);
  // The error has just been printed.
  if (!(error instanceof Failure) && error instanceof Error)
    output.debug(`${error.stack}`.replace(`: ${error.message}`, ''));
  return told.exitCode;
}

/** Ctrl-C and SIGTERM end the process, each with its own code, after what was registered has run. */
function interrupts(): Context['onInterrupt'] {
  const registered: (() => void)[] = [];
  const stop = (signal: NodeJS.Signals) => {
    for (const run of registered.splice(0)) run();
    process.exit(signal === 'SIGTERM' ? exitCodes.terminated : exitCodes.interrupted);
  };
  return (run) => {
    if (registered.length === 0) process.on('SIGINT', stop).on('SIGTERM', stop);
    registered.push(run);
  };
}

async function readVersion(): Promise<string> {
  const { readFile } = await import('node:fs/promises');
  return JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')).version;
}
