import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listFiles, signUpOwner } from './client-account.ts';
import {
  cleanUp,
  freePorts,
  type Service,
  type Settings,
  startService,
  stopService,
  testedSettings,
} from './service.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const executablePath = '/usr/bin/chromium';
// It installs 400 MB, so only `.ci/run` asks for it.
const isWanted = process.env.TEST_NEXTJS === 'on' && existsSync(executablePath);
if (!isWanted) console.warn('LEFT OUT: the Next.js example as a whole, which .ci/run installs, builds and uses.');

describe.runIf(isWanted)('the Next.js example, installed, built and started', () => {
  let settings: Settings;
  let service: Service;
  let folder: string;
  let apiKey: string;
  let app: ChildProcess;
  let appUrl: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cadiz-nextjs-'));
    settings = await testedSettings();
    service = await startService(settings);
    ({ apiKey } = await (await signUpOwner(service.url)).createProject('Next.js'));
    const own = ['app', 'next.config.mjs', 'package.json', 'tsconfig.json'];
    for (const name of own) await cp(join(root, 'examples/nextjs', name), join(folder, name), { recursive: true });
    await run('npm', ['pack', '--pack-destination', folder], { cwd: join(root, 'packages/client') });
    const [port = 0] = await freePorts(1);
    appUrl = `http://127.0.0.1:${port}`;
    const { PATH = '', HOME = '' } = process.env;
    const urls = { CADIZ_URL: service.url, NEXT_PUBLIC_CADIZ_URL: service.url };
    const env = { PATH, HOME, ...urls, CADIZ_API_KEY: apiKey, NEXT_TELEMETRY_DISABLED: '1' };
    await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: folder });
    await run('npm', ['run', 'build'], { cwd: folder, env });
    const next = join(folder, 'node_modules/next/dist/bin/next');
    app = spawn(process.execPath, [next, 'start', '--hostname', '127.0.0.1', '--port', String(port)], {
      cwd: folder,
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }, 600_000);
  afterAll(async () => {
    if (app) {
      const ended = new Promise((resolve) => app.once('close', resolve));
      app.kill();
      await ended;
    }
    if (service) await stopService(service);
    await cleanUp(settings);
    await rm(folder, { recursive: true, force: true });
  });

  test('a page uploads with a ticket of the route handler, and asks no other host', async () => {
    await expect.poll(() => fetch(appUrl).then(({ status }) => status, String)).toBe(200);
    const browser = await chromium.launch({
      executablePath,
      headless: true,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic'],
    });
    try {
      const page = await browser.newPage();
      const hosts = new Set<string>();
      const complaints: string[] = [];
      page.on('request', (request) => hosts.add(new URL(request.url()).hostname));
      page.on('pageerror', (error) => complaints.push(String(error)));
      await page.goto(appUrl);
      const picture = (name: string) => ({ name, mimeType: 'image/png', buffer: Buffer.from(name) });
      await page.setInputFiles('input', [picture('nobody.png')]);
      await expect.poll(() => page.textContent('ul')).toContain('You may not upload here.');
      await page.click('button');
      await expect.poll(() => page.textContent('ul')).toBe('');
      await page.setInputFiles('input', [picture('one.png'), picture('two.png')]);
      await expect.poll(() => page.textContent('ul')).toMatch(/one\.png: done\s*two\.png: done/);
      const files = await listFiles(service.url, apiKey);
      expect(files.map(({ fileName }) => fileName).sort()).toEqual(['one.png', 'two.png']);
      expect(files[0]).toMatchObject({ ticketId: expect.any(String), metadata: { userId: expect.any(String) } });
      expect([...hosts].filter((host) => host !== '127.0.0.1' && host !== 'localhost')).toEqual([]);
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
