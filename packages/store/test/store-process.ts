import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { keys } from './running-store.ts';

/** The built command. */
export const storeCommand = fileURLToPath(new URL('../dist/process/cli.js', import.meta.url));
const environment = {
  ...process.env,
  STORE_ACCESS_KEY_ID: keys.accessKeyId,
  STORE_SECRET_ACCESS_KEY: keys.secretAccessKey,
};

export interface StoreProcess {
  endpoint: string;
  process: ChildProcess;
  /** Resolves with the exit code or the name of the signal. */
  end(signal: NodeJS.Signals): Promise<number | string>;
}

/** The built store as its own process; `limit` is a shell command that runs before it, such as `ulimit -f 2048`. */
export async function startProcess(
  folder: string,
  { limit = 'true', args = [] }: { limit?: string; args?: string[] } = {},
): Promise<StoreProcess> {
  const command = `${limit} && exec "$0" "$@"`;
  const child = spawn('sh', ['-c', command, process.execPath, storeCommand, '--data', folder, '--port', '0', ...args], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stderr.resume();
  const [line] = await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => Promise.reject(new Error('The store did not start.'))),
  ]);
  const endpoint = /http:\/\/[^,]+/.exec(String(line))?.[0] ?? '';
  return {
    endpoint,
    process: child,
    end: async (signal) => {
      const exit = once(child, 'exit');
      child.kill(signal);
      const [code, by] = await exit;
      return code ?? by;
    },
  };
}

/** Runs the command to its end. */
export async function runCli(args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [storeCommand, ...args], { env: { ...environment, ...env } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = await once(child, 'close');
  return { code, output };
}
