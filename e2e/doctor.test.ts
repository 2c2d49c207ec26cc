import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  cleanUp,
  type Exit,
  embeddedSettings,
  freePorts,
  listen,
  quickStart,
  type Settings,
  startService,
  stopService,
} from './service.ts';

const main = fileURLToPath(new URL('../packages/cli/dist/main.js', import.meta.url));

vi.setConfig({ testTimeout: 120_000 });

let settings: Settings = {};
beforeEach(async () => {
  settings = await embeddedSettings();
});
afterEach(() => cleanUp(settings));

/** Runs the built doctor until it ends; `onOutput` may send it a signal. */
async function runDoctor(
  args: string[] = [],
  onOutput?: (kill: (signal: NodeJS.Signals) => void) => void,
): Promise<Exit> {
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, TMPDIR: tmpdir(), ...settings };
  const child = spawn(process.execPath, [...quickStart, main, 'doctor', ...args], {
    cwd: tmpdir(),
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit: Exit = { code: null, stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    exit.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    exit.stderr += text;
  });
  if (onOutput) child.stdout.once('data', () => onOutput((signal) => child.kill(signal)));
  const [code] = await once(child, 'close');
  return { ...exit, code };
}

it('checks the store of a running service, and leaves it running', async () => {
  const service = await startService(settings);
  const { code, stdout, stderr } = await runDoctor();
  expect(stdout).toContain(
    `Checking the embedded object store at http://127.0.0.1:${settings.STORE_PORT}, which is running.`,
  );
  expect(stdout).toContain(' 0 warnings, 0 failed.');
  expect([code, stderr]).toEqual([0, '']);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: without a terminal there must be no colours
  expect(stdout).not.toMatch(/\u001b/);
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
  expect((await stopService(service)).code).toBe(0);
});

it('opens the store itself if no service runs, and closes it again', async () => {
  const { code, stdout } = await runDoctor(['--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    ok: true,
    subject: expect.stringContaining('opened for this'),
    leftOver: [],
  });
  // Otherwise a start with another store, or with other keys, would find something left behind.
  expect(await readdir(settings.CADIZ_DATA_DIR ?? '')).toEqual([]);
  expect((await stopService(await startService(settings))).code).toBe(0);
  const before = await readdir(settings.CADIZ_DATA_DIR ?? '');
  expect(JSON.parse((await runDoctor(['--json'])).stdout)).toMatchObject({ ok: true });
  expect(await readdir(settings.CADIZ_DATA_DIR ?? '')).toEqual(before);
});

it('removes what it made when stopped by Ctrl-C, and exits with 130', async () => {
  const { code, stderr } = await runDoctor([], (kill) => kill('SIGINT'));
  expect([code, stderr.trim()]).toEqual([
    130,
    'Stopping: removing what was created (press again to stop immediately) …',
  ]);
  expect((await runDoctor()).code).toBe(0);
});

it('exits with 1 if a check failed', async () => {
  const [port] = await freePorts(1);
  Object.assign(settings, {
    S3_ENDPOINT: `http://127.0.0.1:${port}`,
    S3_BUCKET: 'media',
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'the-secret-of-the-store',
  });
  const { code, stdout, stderr } = await runDoctor();
  expect([code, stderr]).toEqual([1, '']);
  expect(stdout).toContain('nothing listens there');
  expect(stdout).not.toContain('the-secret-of-the-store');
});

it('says why in one sentence if it cannot start', async () => {
  settings.PRESIGN_TTL_SECONDS = 'soon';
  expect(await runDoctor()).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^PRESIGN_TTL_SECONDS must be .*\n$/),
  });
  settings.PRESIGN_TTL_SECONDS = '900';
  expect(await runDoctor(['--origin', 'app'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--origin app must be '),
  });
  const holder = await listen(Number(settings.STORE_PORT));
  expect(await runDoctor()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^Port \d+ is in use by another program/),
  });
  await holder.close();
  expect(await runDoctor(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('--fix') });
});
