import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signUpOwner } from './client-account.ts';
import {
  cleanUp,
  freePorts,
  migratedSettings,
  type Service,
  type Settings,
  startService,
  stopService,
} from './service.ts';

const run = promisify(execFile);
/** Where runtimes are installed, with npm: several hundred megabytes. */
const { TEST_RUNTIMES = '' } = process.env;
const programOf = (path: string) => join(TEST_RUNTIMES, 'node_modules', path);

let settings: Settings;
let service: Service;
let apiKey: string;
/** A project that has installed the package, with the programs of e2e/runtimes. */
let app: string;

describe.runIf(TEST_RUNTIMES)('the package works in', () => {
  beforeAll(async () => {
    app = await mkdtemp(join(tmpdir(), 'cadiz-runtimes-'));
    await run('npm', ['pack', '--pack-destination', app], {
      cwd: fileURLToPath(new URL('../packages/client', import.meta.url)),
    });
    const [tarball = ''] = await readdir(app);
    await writeFile(join(app, 'package.json'), '{ "name": "app", "private": true, "type": "module" }');
    await run('npm', ['install', '--no-audit', '--no-fund', '--offline', `./${tarball}`], { cwd: app });
    await cp(new URL('runtimes/', import.meta.url), app, { recursive: true });
    settings = await migratedSettings();
    service = await startService({ ...settings, RATE_LIMITS: 'off' });
    ({ apiKey } = await (await signUpOwner(service.url)).createProject('Runtimes'));
  });
  afterAll(async () => {
    if (service) await stopService(service);
    await cleanUp(settings);
    await rm(app, { recursive: true, force: true });
  });

  const optionsFor = (folder: string) => JSON.stringify({ baseUrl: service.url, apiKey, folder });

  const expected = {
    small: true,
    type: 'text/plain',
    streamed: 100_000,
    inParts: true,
    hasProgress: true,
    recorded: 120,
    cancelled: 'aborted',
    absent: 'file_not_found',
    names: ['a.txt', 'big.bin', 's.txt', 'ä 写.bin'],
    events: ['folder.created', 'file.created', 'file.created'],
    deleted: 124,
  };

  async function runProgram(program: string, ...options: string[]) {
    const { stdout } = await run(program, [...options, 'program.mjs', optionsFor(`of-${randomUUID()}`)], { cwd: app });
    return JSON.parse(stdout);
  }

  test('Node', async () => {
    expect(await runProgram(process.execPath)).toEqual(expected);
  });

  test('Bun', async () => {
    expect(await runProgram(programOf('@oven/bun-linux-x64/bin/bun'))).toEqual(expected);
  });

  test('Deno', async () => {
    const deno = programOf('@deno/linux-x64-glibc/deno');
    expect(await runProgram(deno, 'run', '--allow-all', '--no-lock')).toEqual(expected);
  });

  test('a Worker', async () => {
    const built = await rolldown({
      input: join(app, 'worker.mjs'),
      platform: 'neutral',
      resolve: { conditionNames: ['workerd', 'worker', 'browser', 'import'] },
    });
    await built.write({ file: join(app, 'bundle.mjs'), format: 'esm' });
    const [port] = await freePorts(1);
    const config = `
    using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [
        (name = "main", worker = (modules = [(name = "main", esModule = embed "bundle.mjs")], compatibilityDate = "2026-01-01")),
        (name = "internet", network = (allow = ["public", "private", "local"])),
      ],
      sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
    );`;
    await writeFile(join(app, 'config.capnp'), config);
    const workerd = programOf('@cloudflare/workerd-linux-64/bin/workerd');
    const worker = spawn(workerd, ['serve', 'config.capnp'], { cwd: app, stdio: 'inherit' });
    try {
      const url = `http://127.0.0.1:${port}`;
      const isUp = () =>
        fetch(url).then(
          () => true,
          () => false,
        );
      await expect.poll(isUp).toBe(true);
      const answer = await fetch(url, { method: 'POST', body: optionsFor(`of-${randomUUID()}`) });
      expect(await answer.json()).toEqual(expected);
    } finally {
      worker.kill();
    }
  });
});
