import { spawn } from 'node:child_process';
import { createClient } from '@cadiz/client';
import { expect, onTestFinished } from 'vitest';
import { innermost } from '../../deploy/container/run-image.mjs';
import { signUpOwner } from '../client-account.ts';

/** Packing installs every dependency, and compresses for tens of seconds. */
export const packingMilliseconds = 600_000;

/** Starts a service, uploads one file, stops it with SIGTERM, and returns its exit code. */
export async function useOnce(
  [command = '', ...args]: string[],
  env: Record<string, string>,
  port: number,
  cwd: string,
) {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      said += text;
    });
  const ended = new Promise((resolve) => child.once('close', resolve));
  await expect.poll(() => said + child.exitCode, { timeout: 120_000 }).toMatch(/Cadiz is ready at|^(?!.*null$)/s);
  expect(said).toContain('Cadiz is ready at');
  const baseUrl = `http://127.0.0.1:${port}`;
  const { apiKey } = await (await signUpOwner(baseUrl)).createProject('P');
  const file = await createClient({ baseUrl, apiKey }).upload(new File(['Cadiz'], 'a.txt', { type: 'text/plain' }));
  expect(file.fileSize).toBe(5);
  expect(await (await fetch(baseUrl, { headers: { accept: 'text/html' } })).text()).toContain('<title>Cadiz');
  process.kill(innermost(child.pid ?? 0), 'SIGTERM');
  return ended;
}

export function toSettings(port = 0, storePort = 0): Record<string, string> {
  return { PORT: String(port), STORE_PORT: String(storePort), DRAIN_DELAY_SECONDS: '0' };
}
