import { execFile, spawn } from 'node:child_process';
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

/** Installing takes every dependency of the service from the registry or from npm's cache. */
describe.runIf(process.env.TEST_PACKED === 'on')('the packed command, installed in an empty folder', () => {
  let folder: string;
  let app: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cadiz-packed-'));
    const tarballs = join(folder, 'tarballs');
    app = join(folder, 'app');
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

  test('serves: a database, an object store and the console, to which what it says uploads, and stops on a signal', async () => {
    const [place, home, shell] = ['empty', 'home', 'shell'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    await Promise.all([place, home, shell].map((path) => mkdir(path)));
    const [port, storePort] = await freePorts(2);
    const env = { PATH: process.env.PATH ?? '', HOME: home, STORE_PORT: String(storePort), DRAIN_DELAY_SECONDS: '0' };
    const cadiz = join(app, 'node_modules/.bin/cadiz');
    const child = spawn(cadiz, ['serve', '--port', String(port)], { cwd: place, env, stdio: 'pipe' });
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
      await expect.poll(() => said, { timeout: 120_000 }).toContain('Cadiz is ready at');
      const url = `http://127.0.0.1:${port}`;
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      expect(await (await fetch(url, { headers: { accept: 'text/html' } })).text()).toContain('<title>Cadiz');
      expect((await readdir(place)).sort()).toEqual(['data']);
      const transcript = welcome.slice(welcome.indexOf('CADIZ='));
      const pasted = await run('bash', ['-e', '-c', transcript], { cwd: shell, env });
      expect(pasted.stdout).toMatch(/"files":\[\{[^[\]]*"fileName":"hello\.txt"/);
      const status = await run(cadiz, ['status'], { env: { ...env, CADIZ_URL: url } }).catch((error) => error);
      expect([status.code, status.stdout]).toEqual([4, expect.stringContaining(url)]);
    } finally {
      child.kill('SIGTERM');
    }
    expect(await ended).toBe(0);
    const users = await run(cadiz, ['users', 'list'], { cwd: place, env });
    expect(users.stdout).toContain('ada@example.com');
    expect(await readdir(home)).toEqual([]);
  });
});
