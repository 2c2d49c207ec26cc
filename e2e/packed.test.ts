import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePorts } from './service.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
/** What the command needs, and is not on any registry. */
const packages = ['contract', 'http-server', 'images', 'sigv4', 'store', 'client', 'server', 'cli'];

const isAsked = process.env.TEST_PACKED === 'on';
/** Whether a process can have a network of its own, in which it reaches nothing but itself. */
const isolates = isAsked && canIsolate();

function canIsolate(): boolean {
  try {
    execFileSync('unshare', ['--net', 'ip', 'link', 'set', 'lo', 'up'], { stdio: 'ignore' });
    return true;
  } catch {
    console.warn('LEFT OUT: network namespaces are refused here, so the packed command was not tested offline.');
    return false;
  }
}

/** Installing takes every dependency of the service from the registry or from npm's cache. */
describe.runIf(isAsked)('the packed command, installed in an empty folder', () => {
  let folder: string;
  let app: string;
  let cadiz: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cadiz-packed-'));
    const tarballs = join(folder, 'tarballs');
    app = join(folder, 'app');
    cadiz = join(app, 'node_modules/.bin/cadiz');
    await mkdir(tarballs);
    await mkdir(app);
    for (const name of packages)
      await run('npm', ['pack', '--pack-destination', tarballs], { cwd: join(root, 'packages', name) });
    await writeFile(join(app, 'package.json'), '{ "name": "app", "private": true }');
    const files = (await readdir(tarballs)).map((name) => join(tarballs, name));
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...files], { cwd: app });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('has its licence, and those of what its pages contain', async () => {
    const modules = join(app, 'node_modules');
    for (const name of ['cadiz', '@cadiz/server', '@cadiz/store', '@cadiz/client'])
      expect(await readFile(join(modules, name, 'LICENSE'), 'utf8')).toContain('Apache License');
    expect(await readFile(join(modules, '@cadiz/server/dist/site/licenses.md'), 'utf8')).toContain('## react');
  });

  test('serves offline, by npx: a database, an object store and the console, to which what it says uploads, and stops on a signal', async () => {
    const [place, home, shell] = ['empty', 'home', 'shell'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    await Promise.all([place, home, shell].map((path) => mkdir(path)));
    const [port, storePort] = await freePorts(2);
    const env = { PATH: process.env.PATH ?? '', HOME: home, STORE_PORT: String(storePort), DRAIN_DELAY_SECONDS: '0' };
    const serve = `exec npx --prefix '${app}' cadiz serve --port ${port}`;
    const start = isolates ? `exec unshare --net bash -c "ip link set lo up && ${serve}"` : serve;
    const child = spawn('bash', ['-c', start], { cwd: place, env, stdio: 'pipe' });
    const url = `http://127.0.0.1:${port}`;
    const enter = isolates ? ['nsenter', `--net=/proc/${child.pid}/ns/net`] : ['env'];
    const inside = (script: string) => {
      const [command = '', ...args] = [...enter, 'bash', '-e', '-c', script];
      return run(command, args, { cwd: shell, env: { ...env, CADIZ_URL: url } });
    };
    let said = '';
    let welcome = '';
    child.stdout.on('data', (text) => {
      said += text;
      welcome += text;
    });
    child.stderr.on('data', (text) => {
      said += text;
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    try {
      await expect.poll(() => said + child.exitCode, { timeout: 120_000 }).toMatch(/Cadiz is ready at|^(?!.*null$)/s);
      expect(said).toContain('Cadiz is ready at');
      if (isolates) await expect(inside('curl -sS -m 5 http://192.0.2.1/')).rejects.toThrow(/connect/i);
      await inside(`curl -fsS ${url}/healthz`);
      expect((await inside(`curl -fsS -H 'Accept: text/html' ${url}/`)).stdout).toContain('<title>Cadiz');
      expect((await readdir(place)).sort()).toEqual(['data']);
      const transcript = welcome.slice(welcome.indexOf('CADIZ='));
      expect((await inside(transcript)).stdout).toMatch(/"files":\[\{[^[\]]*"fileName":"hello\.txt"/);
      const status = await inside(`exec '${cadiz}' status`).catch((error) => error);
      expect([status.code, status.stdout]).toEqual([4, expect.stringContaining(url)]);
    } finally {
      child.kill('SIGTERM');
    }
    // A signal ends npx and its shell; the service notices, stops, and is the last to close their output.
    await ended;
    expect(said).toContain('\nStopped.\n');
    const users = await run(cadiz, ['users', 'list'], { cwd: place, env });
    expect(users.stdout).toContain('ada@example.com');
    // What npx logs.
    expect(await readdir(home)).toEqual(['.npm']);
  });
});
