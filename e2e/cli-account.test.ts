import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { awaitEarlyStep, readSecret, totp } from '../packages/server/test/totp-app.ts';
import { collect, main, startWorkplace, type Workplace } from './cli.ts';
import { cleanUp, migratedSettings } from './service.ts';

const password = 'a password that nobody has';

let place: Workplace;
beforeAll(async () => {
  place = await startWorkplace();
});
afterAll(() => place.close());

const nobody = (name: string) => ({ CADIZ_API_KEY: '', XDG_CONFIG_HOME: join(place.folder, name) });

describe('a command line', () => {
  test.each([
    [['lss'], 2, 'There is no command lss. Did you mean ls?'],
    [['keys', 'make'], 2, 'There is no command keys make. See cadiz keys --help.'],
    [['ls', '--long', '--wide'], 2, "Unknown option '--wide'"],
    [['rm'], 2, 'An argument is missing: cadiz rm [OPTIONS] PATH...'],
    [['tree', 'a', 'b'], 2, 'Unexpected argument b: cadiz tree [OPTIONS] [PATH]'],
    [['sync', '--delete', '--yes', 'cadiz:/', ''], 2, 'An argument is empty: cadiz sync [OPTIONS] SOURCE TARGET'],
    [['upload', 'a.txt', '--to', ''], 2, '--to is empty.'],
    [['tree', '--level', 'deep'], 2, '--level deep must be a whole number from 1 to 1000.'],
    [['ls', 'cadiz:/../etc'], 2, 'contains .., which has no meaning in a project.'],
    [['ls', 'cadiz:/nowhere'], 3, 'cadiz:/nowhere does not exist.'],
    [['projects', 'use', 'Main'], 2, 'A key does not know the names of projects: give an id'],
    [['ls', '--project', 'Main'], 2, 'A key does not know the names of projects: give an id'],
    [['keys', 'create', 'x'], 4, 'This needs an account rather than a key'],
    [['keys', 'create', 'x'], 4, ', and unset CADIZ_API_KEY'],
  ])('%j ends with %i and says why', async (args, code, words) => {
    const ended = await place.cadiz(args);
    expect([ended.code, ended.stdout]).toEqual([code, '']);
    expect(ended.stderr).toContain(words);
  });

  test('without a command, and with --help, shows the overview and manuals', async () => {
    expect(await place.spawn([])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Usage: cadiz'),
    });
    expect((await place.ok(['--help'])).stdout).toContain('Exit status');
    expect((await place.ok(['help', 'trash', 'list'])).stdout).toContain('cadiz trash list - ');
    expect((await place.ok(['trash', '--help'])).stdout).toContain('trash restore');
  });
});

describe('credentials', () => {
  test('a key is read from standard input, stored for its owner alone, and forgotten again', async () => {
    const env = nobody('key');
    const { url } = place.service;
    expect((await place.cadiz(['status'], { env })).code).toBe(4);
    expect((await place.cadiz(['ls'], { env })).code).toBe(4);
    const login = await place.spawn(['login', url], { env, input: `${place.apiKey}\n` });
    expect(login.code).toBe(0);
    expect(login.stdout + login.stderr).not.toContain(place.apiKey);
    const path = join(env.XDG_CONFIG_HOME, 'cadiz/credentials.json');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(path, '..'))).mode & 0o077).toBe(0);
    expect(await place.json(['status'], { env: { ...env, CADIZ_URL: '' } })).toMatchObject({
      url,
      signedIn: true,
      from: 'file',
      projectId: place.projectId,
    });
    expect((await place.ok(['projects'], { env })).stdout).toBe(`${place.projectId}\n`);
    expect((await place.ok(['keys'], { env })).stdout).toContain('files:read');
    await place.ok(['logout'], { env });
    expect(await readFile(path, 'utf8')).not.toContain(place.apiKey);
    expect((await place.cadiz(['ls'], { env })).code).toBe(4);
  });

  test('stored ones that cannot be read are only needed if the environment does not have them', async () => {
    const XDG_CONFIG_HOME = join(place.folder, 'unreadable');
    await mkdir(join(XDG_CONFIG_HOME, 'cadiz/credentials.json'), { recursive: true });
    await place.ok(['ls'], { env: { XDG_CONFIG_HOME } });
    const without = await place.cadiz(['ls'], { env: { XDG_CONFIG_HOME, CADIZ_API_KEY: '' } });
    expect([without.code, without.stderr]).toEqual([1, expect.stringContaining('credentials.json: is a folder.')]);
  });

  test.skipIf(process.getuid?.() !== 0)('of the environment are enough for an account without a home', async () => {
    const account = ['setpriv', '--reuid=54321', '--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
    const env = { PATH: process.env.PATH ?? '', CADIZ_URL: place.service.url, CADIZ_API_KEY: place.apiKey };
    const listed = await collect([...account, process.execPath, main, 'ls'], { env }, place.folder);
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    await writeFile(join(place.folder, 'homeless.txt'), 'x');
    const uploaded = await collect(
      [...account, process.execPath, main, 'upload', 'homeless.txt'],
      { env },
      place.folder,
    );
    expect(uploaded).toMatchObject({ code: 0, stderr: expect.stringContaining('Uploaded 1 file') });
  });

  test('a key of the environment works in its own project, whichever is stored', async () => {
    const env = nobody('two');
    await place.ok(['login', place.service.url], { env, input: place.apiKey });
    const other = await place.owner.createProject('Other');
    const withOther = { ...env, CADIZ_API_KEY: other.apiKey };
    await place.ok(['mkdir', 'of-the-other'], { env: withOther });
    expect((await place.ok(['ls'], { env: withOther })).stdout).toBe('of-the-other/\n');
    expect((await place.ok(['projects'], { env: withOther })).stdout).toBe(`${other.projectId}\n`);
    const given = await place.cadiz(['ls', '--project', place.projectId], { env: withOther });
    expect([given.code, given.stderr]).toEqual([1, expect.stringContaining('belongs to another project')]);
    const ofEnvironment = { ...withOther, CADIZ_PROJECT_ID: place.projectId };
    expect((await place.cadiz(['ls'], { env: ofEnvironment })).code).toBe(1);
  });

  test('a key of the environment that is tied to no project works in the stored one', async () => {
    const env = nobody('untied');
    const other = await place.owner.createProject('Chosen');
    await place.ok(['login', place.service.url], { env, input: other.apiKey });
    const untied = { ...env, CADIZ_API_KEY: await place.owner.createUntiedKey() };
    await place.ok(['mkdir', 'of-the-chosen'], { env: untied });
    expect((await place.ok(['ls'], { env })).stdout).toBe('of-the-chosen/\n');
    expect(await place.json(['status'], { env: untied })).toMatchObject({ projectId: other.projectId });
    expect((await place.ok(['projects'], { env: untied })).stdout).toBe(`${other.projectId}\n`);
    const main = { ...untied, CADIZ_PROJECT_ID: place.projectId };
    expect((await place.ok(['ls'], { env: main })).stdout).not.toContain('of-the-chosen/');
    const nothing = await place.cadiz(['ls'], {
      env: { ...untied, ...nobody('nothing'), CADIZ_API_KEY: untied.CADIZ_API_KEY },
    });
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('Which project? Choose one with')]);
  });

  test('are never sent to another service than theirs', async () => {
    const env = nobody('other');
    await place.ok(['login', place.service.url], { env, input: place.apiKey });
    const other = { ...env, CADIZ_URL: place.service.url.replace('127.0.0.1', 'localhost') };
    expect((await place.cadiz(['ls'], { env: other })).code).toBe(4);
  });

  test('that cannot be stored are not asked for, and the file is named', async () => {
    const file = join(place.folder, 'no-folder');
    await writeFile(file, '');
    const env = { ...nobody('unwritable'), XDG_CONFIG_HOME: file };
    const { code, stderr } = await place.cadiz(['login', place.service.url], { env, input: 'hello' });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${file}/cadiz/credentials.json cannot be written: `)]);
  });

  test('that no header can have are told by their name', async () => {
    const { code, stderr } = await place.cadiz(['ls'], { env: { CADIZ_API_KEY: place.apiKey.replace('_', '\x07') } });
    expect([code, stderr]).toEqual([4, expect.stringContaining('CADIZ_API_KEY is not an API key')]);
    expect((await place.ok(['ls'], { env: { CADIZ_API_KEY: `\n ${place.apiKey}\r\n` } })).code).toBe(0);
  });

  test.each(['ada:s3cret', ':s3cret'])('a URL with a password (%s@) is refused, and not repeated', async (who) => {
    const url = place.service.url.replace('//', `//${who}@`);
    for (const refused of [await place.cadiz(['login', url]), await place.cadiz(['ls'], { env: { CADIZ_URL: url } })]) {
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('has no user name and no password')]);
      expect(refused.stderr).not.toContain('s3cret');
    }
  });

  test('something that is not Cadiz is told once, as the URL that the command knows', async () => {
    const server = createServer((_request, response) => response.writeHead(404).end('Welcome'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, stderr } = await place.cadiz(['ls', '--debug'], { env: { CADIZ_URL: url } });
    server.close();
    expect([code, stderr.match(/Not Cadiz/g)]).toEqual([1, ['Not Cadiz']]);
    expect(stderr).toContain('or CADIZ_URL, right?');
  });

  test('are not stored for something that is not Cadiz, whatever JSON it answers', async () => {
    const server = createServer(({ url = '' }, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(url.startsWith('/null') ? 'null' : '{}'),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const env = nobody('elsewhere');
    for (const url of [origin, `${origin}/null`]) {
      const byKey = await place.cadiz(['login', url], { env, input: place.apiKey });
      expect([byKey.code, byKey.stderr]).toEqual([1, expect.stringContaining(`${url} is not a Cadiz service`)]);
      const shown = await place.type(
        ['login', '--account', url],
        [
          ['E-mail address', 'ada@example.com'],
          ['Password', password],
        ],
        { env },
      );
      expect([shown.code, shown.stdout]).toEqual([1, expect.stringContaining(`${url} is not a Cadiz service`)]);
      for (const command of ['status', 'projects list', 'keys list']) {
        const asked = await place.cadiz(command.split(' '), {
          env: { ...env, CADIZ_URL: url, CADIZ_API_KEY: place.apiKey },
        });
        expect([asked.code, asked.stdout]).toEqual([1, '']);
        expect(asked.stderr).toContain(`${url} is not a Cadiz service`);
      }
    }
    server.close();
    await expect(stat(join(env.XDG_CONFIG_HOME, 'cadiz/credentials.json'))).rejects.toThrow('ENOENT');
  });

  test('that are refused are not stored', async () => {
    const env = nobody('refused');
    expect((await place.cadiz(['login'], { env, input: 'hello' })).code).toBe(2);
    expect((await place.cadiz(['login'], { env, input: `cz_live_${'x'.repeat(43)}` })).code).toBe(4);
    await expect(stat(join(env.XDG_CONFIG_HOME, 'cadiz/credentials.json'))).rejects.toThrow('ENOENT');
  });

  test('an account signs in on a terminal that shows no password, and manages projects and keys', async () => {
    const env = nobody('account');
    expect((await place.cadiz(['login', '--account'], { env })).code).toBe(2);
    const shown = await place.type(
      ['login', '--account'],
      [
        ['E-mail address', 'ada@example.com'],
        ['Password', password],
      ],
      { env },
    );
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('as ada@example.com')]);
    expect(shown.stdout).not.toContain(password);

    const id = (await place.ok(['projects', 'create', 'Press', '--use'], { env })).stdout.trim();
    expect((await place.json<{ projectId: string }>(['status'], { env })).projectId).toBe(id);
    expect((await place.ok(['projects'], { env })).stdout).toContain(`* ${' '}${id}`);
    await place.ok(['mkdir', 'inbox'], { env });
    const from = (project: string) => ({ env: { ...env, CADIZ_PROJECT_ID: project } });
    await place.ok(['mkdir', 'by-name', '--project', 'Main'], { env });
    expect((await place.ok(['ls'], from('Main'))).stdout).toContain('by-name/\n');
    expect((await place.ok(['ls', '--project', id.toUpperCase()], from('Main'))).stdout).toBe('inbox/\n');
    const nowhere = await place.cadiz(['ls', '--project', 'main'], { env });
    expect([nowhere.code, nowhere.stderr]).toEqual([3, expect.stringMatching(/no project main\. There are: .*Main/)]);
    expect((await place.ok(['projects'], from('Press'))).stdout).toContain(`* ${' '}${id}`);
    await place.ok(['projects', 'create', 'Press'], { env });
    const several = await place.cadiz(['ls', '--project', 'Press'], { env });
    expect([several.code, several.stderr]).toEqual([2, expect.stringContaining(`give an id: ${id}, `)]);
    const created = await place.ok(['keys', 'create', 'ci', '--scope', 'files:read', '--folder', 'cadiz:/inbox'], {
      env,
    });
    const key = created.stdout.trim();
    expect(key).toMatch(/^cz_live_\S+$/);
    expect(created.stderr).not.toContain(key);
    expect((await place.ok(['ls'], { env: { CADIZ_API_KEY: key } })).code).toBe(0);
    const { apiKeys } = await place.json<{ apiKeys: { id: string; name: string }[] }>(['keys', 'list'], { env });
    expect(apiKeys).toEqual([expect.objectContaining({ name: 'ci' })]);
    expect((await place.cadiz(['keys', 'revoke', apiKeys[0]?.id ?? ''], { env })).code).toBe(2);
    const asked = await place.type(['keys', 'revoke', apiKeys[0]?.id ?? ''], [['for good? [y/N]', 'y']], { env });
    expect([asked.code, asked.stdout]).toEqual([0, expect.stringContaining('Revoked the key ci')]);
    expect((await place.cadiz(['ls'], { env: { CADIZ_API_KEY: key } })).code).toBe(4);

    for (const [name, expires] of [
      ['short', '2s'],
      ['long', '1d'],
    ] as const)
      await place.ok(['keys', 'create', name, '--expires', expires], { env });
    const listKeys = async () => (await place.ok(['keys', 'list'], { env })).stdout;
    await expect.poll(listKeys, { timeout: 20_000 }).toMatch(/ {2}expired {2,}.* {2}short$/m);
    expect(await listKeys()).toMatch(/ {2}until \d{4}-.* {2}long$/m);

    await place.ok(['projects', 'use', 'Main'], { env });
    expect((await place.json<{ projectId: string }>(['status'], { env })).projectId).toBe(place.projectId);
    const session = JSON.parse(await readFile(join(env.XDG_CONFIG_HOME, 'cadiz/credentials.json'), 'utf8')).services[
      place.service.url
    ].session;
    await place.ok(['logout'], { env });
    const answer = await fetch(`${place.service.url}/api/projects`, { headers: { cookie: session } });
    expect(answer.status).toBe(401);
  });
});

describe('an account with a second factor', () => {
  let secret: Buffer;
  let backupCodes: string[];
  beforeAll(async () => {
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    const post = async (path: string, body: object) => {
      const url = `${place.service.url}/api/auth/${path}`;
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(answer.status).toBe(200);
      headers.cookie ??= answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
      return (await answer.json()) as { totpURI: string; backupCodes: string[] };
    };
    await post('sign-in/email', { email: 'ada@example.com', password });
    const enabled = await post('two-factor/enable', { password });
    secret = readSecret(enabled.totpURI);
    backupCodes = enabled.backupCodes;
    await awaitEarlyStep();
    await post('two-factor/verify-totp', { code: totp(secret, -1) });
  });

  const signIn = (code: string, env: Record<string, string>) =>
    place.type(
      ['login', '--account'],
      [
        ['E-mail address', 'ada@example.com'],
        ['Password', password],
        ['Code of the second factor, or a backup code', code],
      ],
      { env },
    );

  test('signs in with the code of an app, which is not shown', async () => {
    const env = nobody('totp');
    const code = totp(secret);
    const shown = await signIn(code, env);
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('as ada@example.com')]);
    expect(shown.stdout).not.toContain(code);
    expect(await place.json(['status'], { env })).toMatchObject({ signedIn: true });
    expect((await place.ok(['projects'], { env })).stdout).toContain('Main');
  });

  test('signs in with a backup code, once', async () => {
    const [code = ''] = backupCodes;
    expect((await signIn(code, nobody('backup'))).code).toBe(0);
    expect((await signIn(code, nobody('backup-again'))).code).toBe(4);
  });

  test('is not signed in, and nothing is stored, with a wrong code', async () => {
    const env = nobody('wrong');
    const shown = await signIn('000000', env);
    expect([shown.code, shown.stdout]).toEqual([4, expect.stringContaining('Error:')]);
    expect((await place.cadiz(['status'], { env })).code).toBe(4);
  });
});

test('--debug shows requests with their ids, and no secret', async () => {
  const { stderr } = await place.ok(['ls', '--debug']);
  expect(stderr).toMatch(/GET \/api\/storage\/list\?\S+ 200 [\da-f-]{36} \d+ ms/);
  expect(stderr).not.toContain(place.apiKey);
});

test('an error has the request id, and is JSON with --json', async () => {
  const { stderr, stdout, code } = await place.spawn(['ls', '--json'], {
    env: { CADIZ_API_KEY: `cz_live_${'x'.repeat(43)}` },
  });
  expect([code, stdout]).toEqual([4, '']);
  expect(JSON.parse(stderr)).toEqual({
    error: { message: expect.any(String), code: 'invalid_api_key', requestId: expect.any(String) },
  });
});

test('a program of the service says with --json why it has failed, and ends with 3 if something is not there', async () => {
  const run = async (args: string[], env = {}) => {
    const { code, stdout, stderr } = await place.spawn([...args, '--json'], { env });
    return [code, stdout, JSON.parse(stderr)];
  };
  const because = (message: string) => ({ error: { message: expect.stringContaining(message) } });
  expect(await run(['admin', 'verify', 'nope'])).toEqual([3, '', because('There is no whole backup in nope')]);
  expect((await place.spawn(['admin', 'verify', 'nope'])).stderr).toMatch(/^There is no whole backup in nope.*\n$/);
  expect((await place.spawn(['admin', 'restore', 'nope'])).code).toBe(3);
  const beside = { CADIZ_DATA_DIR: place.settings.CADIZ_DATA_DIR ?? '' };
  for (const name of ['users', 'queue'])
    expect(await run([name, 'list'], beside)).toEqual([1, '', because('The service is running')]);
});

test('an account that does not exist is not found, with the code of the service', { timeout: 60_000 }, async () => {
  const settings = await migratedSettings();
  try {
    const env = { CADIZ_DATA_DIR: settings.CADIZ_DATA_DIR ?? '' };
    const { code, stderr } = await place.spawn(['users', 'disable', 'nobody@example.com', '--json'], { env });
    const message = 'No account has the e-mail address nobody@example.com.';
    expect([code, JSON.parse(stderr)]).toEqual([3, { error: { message, code: 'user_not_found' } }]);
  } finally {
    await cleanUp(settings);
  }
});

test('where nothing answers, it is named, and on a terminal it is said that the command is still trying', {
  timeout: 120_000,
}, async () => {
  // Keeps the first request of each command waiting for longer than it says nothing, and is gone after that.
  let waiting = 4;
  const server = createServer(() => {
    if (--waiting === 0) setTimeout(() => server.close().closeAllConnections(), 3_000);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const env = { CADIZ_URL: url };
  const end = `${url} cannot be reached: connect ECONNREFUSED 127.0.0.1:${port}`;
  const [shown, quiet, piped, json] = await Promise.all([
    place.type(['ls'], [], { env: { ...env, NO_COLOR: '1' } }),
    place.type(['ls', '--quiet'], [], { env: { ...env, NO_COLOR: '1' } }),
    place.spawn(['ls'], { env }),
    place.type(['ls', '--json'], [], { env }),
  ]);
  expect([shown.code, shown.stdout]).toEqual([1, `No answer from ${url} yet. Still trying …\r\nError: ${end}\r\n`]);
  expect([quiet.code, quiet.stdout]).toEqual([1, `Error: ${end}\r\n`]);
  expect([piped.code, piped.stdout, piped.stderr]).toEqual([1, '', `Error: ${end}\n`]);
  expect(JSON.parse(json.stdout)).toEqual({ error: { message: end, code: 'network_failed' } });
});
