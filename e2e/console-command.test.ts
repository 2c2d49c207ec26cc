import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@cadiz/client';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collect, type Ended, main } from './cli.ts';
import { type ConsoleUnderTest, email, findBarriers, password, startConsole, triesJourneys } from './console-page.ts';

let tested: ConsoleUnderTest;
let projectId: string;
let folder: string;

beforeAll(async () => {
  if (!triesJourneys) return;
  tested = await startConsole();
  projectId = await tested.createProject('Harbour Journal');
  folder = await mkdtemp(join(tmpdir(), 'cadiz-login-'));
});

afterAll(async () => {
  if (!triesJourneys) return;
  await tested.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Login {
  /** The page that it asks somebody to open. */
  address: string;
  ended: Promise<Ended>;
  type(line: string): void;
  stored(): Promise<string>;
}

/** Runs `cadiz login` on a terminal, until it shows an address. */
function login(name: string): Promise<Login> {
  const config = join(folder, name);
  const env = { PATH: process.env.PATH ?? '', HOME: folder, XDG_CONFIG_HOME: config };
  const command = `'${process.execPath}' '${main}' login --no-browser ${tested.url}`;
  return new Promise((resolve, reject) => {
    let isShown = false;
    const ended = collect(
      ['script', '-qefc', command, '/dev/null'],
      {
        env,
        isOpen: true,
        onWords(words, child) {
          const [, address] = /(\S+\/command#\S+)[\s\S]*not shown\): /.exec(words) ?? [];
          if (isShown || !address) return;
          isShown = true;
          resolve({
            address,
            ended,
            type: (line) => child.stdin?.write(`${line}\r`),
            stored: () => readFile(join(config, 'cadiz/credentials.json'), 'utf8'),
          });
        },
      },
      folder,
    );
    ended.then(({ stdout }) => reject(new Error(stdout)), reject);
  });
}

const pathOf = (address: string) => new URL(address).pathname + new URL(address).hash;
const create = (page: Page) => page.getByRole('button', { name: 'Create the key' }).click();

/** What the command answers on its port. @returns the status */
function send(port: string, path: string, headers: Record<string, string>, body?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method: body === undefined ? 'GET' : 'POST', headers });
    sent.once('response', (answer) => resolve(answer.resume().statusCode ?? 0)).once('error', reject);
    sent.end(body);
  });
}

describe.runIf(triesJourneys)('a command that asks for a key in the browser', () => {
  test('gets it, and neither the address nor the history keeps it', async () => {
    const { address, ended, stored } = await login('browser');
    const page = await tested.openAsOwner(pathOf(address));
    await page.getByRole('heading', { name: 'A key for the command' }).waitFor();
    expect(new URL(page.url()).hash).toBe('');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toMatch(/^cadiz on /);
    expect(await findBarriers(page)).toEqual([]);
    await create(page);
    await page.getByText('The command has its key. You can close this page.').waitFor();
    expect(page.url()).not.toContain('cz_live_');
    const { code, stdout } = await ended;
    expect([code, stdout]).toEqual([0, expect.stringContaining('with the key cadiz on ')]);
    expect(stdout).not.toContain('cz_live_');
    const { apiKey, ...rest } = JSON.parse(await stored()).services[tested.url];
    expect(apiKey).toMatch(/^cz_live_/);
    expect(rest).toEqual({ projectId });
    const { scopes } = await createClient({ baseUrl: tested.url, apiKey }).keys.current();
    expect(scopes).toEqual(['files:read', 'files:write']);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('of another machine is given it by hand', async () => {
    const { address, ended, type } = await login('paste');
    const page = await tested.openAsOwner(pathOf(address));
    await page.getByLabel('The command runs on another machine').check();
    await create(page);
    const key = (await page.locator('.secret code').textContent()) ?? '';
    type(key);
    const { code, stdout } = await ended;
    expect([code, stdout]).toEqual([0, expect.stringContaining('with the key cadiz on ')]);
    expect(stdout).not.toContain(key);
    await page.context().close();
  });

  test('is not forgotten while somebody signs in', async () => {
    const page = await tested.openPage();
    await page.goto(`${tested.url}/command#43121.${'x'.repeat(32)}.laptop`);
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'A key for the command' }).waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('cadiz on laptop');
    expect(await page.getByLabel('The command runs on another machine').isDisabled()).toBe(false);
    await page.context().close();
  });

  test('listens to nobody else', async () => {
    const { address, ended, type } = await login('others');
    const [port = '', state = ''] = new URL(address).hash.slice(1).split('.');
    const own = `127.0.0.1:${port}`;
    const key = `cz_live_${'x'.repeat(43)}`;
    expect(await send(port, '/', { Host: own })).toBe(404);
    expect(await send(port, `/${state}`, { Host: `attacker.example:${port}` })).toBe(404);
    expect(await send(port, `/${state}`, { Host: own, Origin: 'https://attacker.example' }, key)).toBe(404);
    expect(await send(port, `/${state}`, { Host: own }, key)).toBe(404);
    expect(await send(port, `/${state}x`, { Host: own, Origin: `http://${own}` }, key)).toBe(404);
    expect(await send(port, `/${state}`, { Host: own, Origin: `http://${own}` }, 'hello')).toBe(400);
    expect(await send(port, `/${state}`, { Host: own })).toBe(200);
    type('\u0003');
    expect((await ended).code).toBe(130);
  });

  test('leads nobody to another host', async () => {
    for (const fragment of [`80.${'x'.repeat(32)}.a`, `43121@evil.example.${'x'.repeat(32)}.a`, 'nothing']) {
      const page = await tested.openAsOwner(`/command#${fragment}`);
      await page.getByRole('heading', { name: 'A key for the command' }).waitFor();
      expect(await page.getByLabel('The command runs on another machine').isChecked()).toBe(true);
      expect(await page.getByLabel('The command runs on another machine').isDisabled()).toBe(true);
      await page.context().close();
    }
  });
});
