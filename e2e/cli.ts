import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../packages/cli/dist/run.js';
import { type Owner, signUpOwner } from './client-account.ts';
import { cleanUp, migratedSettings, type Service, type Settings, startService, stopService } from './service.ts';

export const main = fileURLToPath(new URL('../packages/cli/dist/main.js', import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface How {
  env?: Record<string, string>;
  /** What is piped in; nothing by default. */
  input?: string;
  cwd?: string;
}

export interface ProcessHow extends How {
  /** Called with what has been written so far, whenever that grows. */
  onWords?: (words: string, child: ChildProcess) => void;
}

/** A service of its own, a folder to work in, and the command with a key for a project. */
export interface Workplace {
  service: Service;
  /** Those of the service. */
  settings: Settings;
  /** A folder that is removed at the end. */
  folder: string;
  owner: Owner;
  projectId: string;
  apiKey: string;
  /** Runs the command as the holder of the key, in the process of the test: a fraction of the work of a new one. */
  cadiz(args: string[], how?: How): Promise<Ended>;
  /** The same, and throws with all that it said unless it ends with 0. */
  ok(args: string[], how?: How): Promise<Ended>;
  /** What it prints with --json. */
  json<T>(args: string[], how?: How): Promise<T>;
  /** Runs the command as a process, for what only a process has: signals, pipes, an end. */
  spawn(args: string[], how?: ProcessHow): Promise<Ended>;
  /** Runs it on a terminal, and types a line as soon as a question is shown. Answers all that was shown. */
  type(args: string[], answers: [question: string, line: string][], how?: How): Promise<Ended>;
  close(): Promise<void>;
}

export async function startWorkplace(): Promise<Workplace> {
  const settings: Settings = await migratedSettings();
  const service = await startService(settings);
  const folder = await mkdtemp(join(tmpdir(), 'cadiz-cli-'));
  const owner = await signUpOwner(service.url);
  const { projectId, apiKey } = await owner.createProject('Main');
  const surroundings = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, '.config'),
    XDG_STATE_HOME: join(folder, '.state'),
    CADIZ_URL: service.url,
  };
  const withKey = <T extends How>(how: T) => ({ ...how, env: { ...surroundings, CADIZ_API_KEY: apiKey, ...how.env } });
  const cadiz = (args: string[], how: How = {}) => runHere(args, withKey(how), folder);
  const ok = async (args: string[], how?: How) => {
    const ended = await cadiz(args, how);
    if (ended.code !== 0)
      throw new Error(`cadiz ${args.join(' ')} ended with ${ended.code}\n${ended.stdout}${ended.stderr}`);
    return ended;
  };
  return {
    service,
    settings,
    folder,
    owner,
    projectId,
    apiKey,
    cadiz,
    ok,
    spawn: (args, how = {}) => collect([process.execPath, main, ...args], withKey(how), folder),
    json: async (args, how) => JSON.parse((await ok([...args, '--json'], how)).stdout),
    type: (args, answers, how = {}) => {
      const left = [...answers];
      const quoted = [process.execPath, main, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
      const onWords = (words: string, child: ChildProcess) => {
        const [question, line] = left[0] ?? [];
        if (question === undefined || !words.includes(question)) return;
        left.shift();
        child.stdin?.write(`${line}\r`);
      };
      return collect(['script', '-qefc', quoted, '/dev/null'], { ...withKey(how), onWords, isOpen: true }, folder);
    },
    async close() {
      await stopService(service);
      await cleanUp(settings);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs the built command in this process, with what it would have of its own: input, outputs, environment and folder. */
async function runHere(args: string[], { env = {}, input = '', cwd }: How, folder: string): Promise<Ended> {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  const code = await runCommand(args, {
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    stdout: writeTo(stdout),
    stderr: writeTo(stderr),
    env,
    cwd: cwd ?? folder,
    // Nobody interrupts it.
    onInterrupt: () => undefined,
  });
  return { code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
}

function writeTo(pieces: Buffer[]): Writable {
  return new Writable({
    write(piece: Buffer, _encoding, done) {
      pieces.push(piece);
      done();
    },
  });
}

/** Runs a program until it ends. */
export function collect(
  [program = '', ...args]: string[],
  how: ProcessHow & { isOpen?: boolean },
  folder: string,
): Promise<Ended> {
  const { env, input = '', cwd = folder, onWords, isOpen = false } = how;
  const child = spawn(program, args, { cwd, env, stdio: 'pipe' });
  const ended: Ended = { code: null, stdout: '', stderr: '' };
  const add = (to: 'stdout' | 'stderr') => (text: string) => {
    ended[to] += text;
    onWords?.(ended.stdout + ended.stderr, child);
  };
  child.stdout.setEncoding('utf8').on('data', add('stdout'));
  child.stderr.setEncoding('utf8').on('data', add('stderr'));
  // A command that does not read its input may be gone before it has arrived.
  child.stdin.on('error', () => undefined);
  if (!isOpen) child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...ended, code }));
  });
}
