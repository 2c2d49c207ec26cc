import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '@cadiz/client';
import { verifyWebhook } from '@cadiz/client/webhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Authenticator, assert, attest, makeAuthenticator } from '../packages/server/test/authenticator.ts';
import { openBrowser, type TestBrowser } from '../packages/server/test/browser.ts';
import type { TestService } from '../packages/server/test/service.ts';
import { awaitEarlyStep, readSecret, totp } from '../packages/server/test/totp-app.ts';
import { collect, type Ended, main } from './cli.ts';
import {
  cleanUp,
  embeddedSettings,
  quickStart,
  type Service,
  type Settings,
  startService,
  stopService,
  testedSettings,
} from './service.ts';

const kinds = process.env.TEST_DATABASE_URL ? ['embedded', 'postgres'] : ['embedded'];
/** Always with an object store of its own, whose folder can be copied (e2e/admin-objects.test.ts has the others). */
async function newSettings(kind: string): Promise<Settings> {
  const settings = await (kind === 'embedded' ? embeddedSettings() : testedSettings());
  const own = Object.entries(settings).filter(([name]) => !name.startsWith('S3_'));
  return { ...Object.fromEntries(own), WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8', RATE_LIMITS: 'off' };
}

/** What a user of the service has, and finds again after a restore. */
interface Kept {
  cookies: [string, string][];
  passkey: Authenticator;
  secret: Buffer;
  backupCode: string;
  apiKey: string;
  projectId: string;
  fileId: string;
  trashedId: string;
  linkUrl: string;
  webhookId: string;
  webhookSecret: string;
  ticket: string;
  cursor: string;
}

/** A server that gets webhooks. */
interface Receiver {
  url: string;
  received: { body: string; headers: IncomingHttpHeaders }[];
  /** Lets what it gets from now on wait for its answer, until the returned function is called. */
  hold(): () => void;
  close(): Promise<void>;
}

async function startReceiver(): Promise<Receiver> {
  const received: Receiver['received'] = [];
  let answering: Promise<void> | undefined;
  const hold = () => {
    let release = () => {};
    answering = new Promise((resolve) => {
      release = resolve;
    });
    return () => {
      answering = undefined;
      release();
    };
  };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request.setEncoding('utf8')) body += piece;
    received.push({ body, headers: request.headers });
    await answering;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections());
  return { url: `http://127.0.0.1:${port}/`, received, hold, close };
}

const call =
  ({ url }: Service): TestService['call'] =>
  async (method, path, { body, headers } = {}) => {
    const answer = await fetch(url + path, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    expect(answer.status, text).toBe(200);
    return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) };
  };

const email = 'ada@example.com';
const password = 'a password that nobody has';

/** Questions and answers of a passkey. Its page may have another port than before, but must have the same host. */
async function answer(browser: TestBrowser, { url }: Service, passkey: Authenticator, isNew = false): Promise<void> {
  const { body: asked } = await browser.call(
    'GET',
    `/api/auth/passkey/generate-${isNew ? 'register' : 'authenticate'}-options`,
  );
  const question = { challenge: asked.challenge, origin: `http://localhost:${new URL(url).port}` };
  const [path, body] = isNew
    ? ['registration', attest(passkey, question)]
    : ['authentication', assert(passkey, question)];
  await browser.call('POST', `/api/auth/passkey/verify-${path}`, { body });
}

async function use(service: Service, receiver: Receiver): Promise<Kept> {
  const browser = openBrowser({ call: call(service) });
  const post = async (path: string, body: object) => (await browser.call('POST', path, { body })).body;
  await post('/api/auth/sign-up/email', { name: 'Ada', email, password });
  const { id: projectId } = await post('/api/projects', { name: 'Main' });
  const { key: apiKey } = await post('/api/api-keys', { name: 'Key', projectId });
  const cadiz = createClient({ baseUrl: service.url, apiKey });
  const file = await cadiz.upload(new Blob(['the bytes']), {
    name: 'kept é.txt',
    type: 'text/x-own',
    metadata: { album: 'beach', stars: 5 },
    externalId: 'photo-1',
  });
  const trashed = await cadiz.upload(new Blob(['in the trash']), { name: 'trashed.txt' });
  await cadiz.files.delete(trashed.id);
  const link = await cadiz.links.create(file.id);
  const webhook = await post(`/api/projects/${projectId}/webhooks`, { url: receiver.url });
  const { ticket } = await cadiz.tickets.create({ maxFiles: 1, maxBytes: 100, expiresIn: 3600 });
  const { cursor } = (await browser.call('GET', `/api/storage/events?projectId=${projectId}`)).body;

  const passkey = makeAuthenticator();
  await answer(browser, service, passkey, true);
  const { totpURI, backupCodes } = await post('/api/auth/two-factor/enable', { password });
  const secret = readSecret(totpURI);
  await awaitEarlyStep();
  await post('/api/auth/two-factor/verify-totp', { code: totp(secret, -1) });
  const cookies = [...browser.cookies];
  const account = { cookies, passkey, secret, backupCode: backupCodes[0] };
  const ids = { projectId, fileId: file.id, trashedId: trashed.id, webhookId: webhook.id };
  return { ...account, ...ids, apiKey, linkUrl: link.url, webhookSecret: webhook.secret, ticket, cursor };
}

async function expectKept(service: Service, kept: Kept, receiver: Receiver): Promise<void> {
  const { projectId } = kept;
  const cadiz = createClient({ baseUrl: service.url, apiKey: kept.apiKey });
  const names = [];
  for await (const { fileName } of cadiz.files.list()) names.push(fileName);
  expect(names).toContain('kept é.txt');
  const own = new URL(kept.linkUrl);
  const shared = await fetch(service.url + own.pathname + own.search);
  expect(await shared.text()).toBe('the bytes');
  expect(await cadiz.files.get(kept.fileId)).toMatchObject({
    mimeType: 'text/x-own',
    metadata: { album: 'beach', stars: 5 },
    externalId: 'photo-1',
  });
  const withTicket = createClient({ baseUrl: service.url, ticket: kept.ticket });
  const upload = () => withTicket.upload(new Blob(['with a ticket']), { name: 'ticket.txt' });
  await upload();
  await expect(upload()).rejects.toMatchObject({ code: 'ticket_exhausted' });
  await cadiz.files.restore(kept.trashedId);

  const browser = openBrowser({ call: call(service) });
  for (const [name, value] of kept.cookies) browser.cookies.set(name, value);
  const get = async (path: string) => (await browser.call('GET', path)).body;
  expect((await get(`/api/projects/${projectId}/webhooks/${kept.webhookId}`)).url).toBe(receiver.url);
  const since = `/api/storage/events?projectId=${projectId}&after=${encodeURIComponent(kept.cursor)}`;
  const news = async (): Promise<{ seq: number; type: string }[]> => (await get(since)).events;
  // Events are numbered after they have committed.
  const types = async () => (await news()).map(({ type }) => type);
  await expect.poll(types).toContain('file.restored');
  const numbers = (await news()).map(({ seq }) => seq);
  expect(numbers).toEqual(numbers.map((_, index) => Number(kept.cursor) + 1 + index));
  const delivered = () => receiver.received.findLast(({ body }) => body.includes('"file.restored"'));
  await expect.poll(delivered, { timeout: 20_000 }).toBeDefined();
  const { body = '', headers = {} } = delivered() ?? {};
  const { type } = await verifyWebhook(body, new Headers(headers as Record<string, string>), kept.webhookSecret);
  expect(type).toBe('file.restored');
}

/** Signs in by each way that the account had. */
async function expectSignIns(service: Service, { passkey, secret, backupCode }: Kept): Promise<void> {
  const factors = {
    passkey: (browser: TestBrowser) => answer(browser, service, passkey),
    totp: (browser: TestBrowser) =>
      browser.call('POST', '/api/auth/two-factor/verify-totp', { body: { code: totp(secret) } }),
    'backup code': (browser: TestBrowser) =>
      browser.call('POST', '/api/auth/two-factor/verify-backup-code', { body: { code: backupCode } }),
  };
  for (const [name, enter] of Object.entries(factors)) {
    const browser = openBrowser({ call: call(service) });
    if (name !== 'passkey') {
      const { body } = await browser.call('POST', '/api/auth/sign-in/email', { body: { email, password } });
      expect(body).toEqual({ twoFactorRedirect: true, twoFactorMethods: ['totp'] });
    }
    await enter(browser);
    expect((await browser.call('GET', '/api/auth/get-session')).body?.user.email, name).toBe(email);
  }
}

describe.each(kinds)('a backup of a running service (%s)', (kind) => {
  let settings: Settings;
  let folder: string;
  let kept: Kept;
  let acknowledged: string[];
  let receiver: Receiver;
  const cleanups: (() => Promise<unknown>)[] = [];
  const admin = (args: string[], { PATH: _, ...own }: Settings = {}): Promise<Ended> =>
    collect(
      [process.execPath, ...quickStart, main, 'admin', ...args],
      { env: { PATH: process.env.PATH ?? '', ...own } },
      folder,
    );
  const archive = () => join(folder, 'archive');

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cadiz-backup-'));
    settings = await newSettings(kind);
    cleanups.push(() => cleanUp(settings));
    const service = await startService(settings);
    receiver = await startReceiver();
    cleanups.push(() => receiver.close());
    kept = await use(service, receiver);
    // A delivery is under way while the backup is made: the work of its endpoint is leased to this service.
    const release = receiver.hold();
    const deliveredBefore = receiver.received.length;
    // Load until the backup has ended; what was acknowledged before it began must be in it.
    let done = false;
    acknowledged = [];
    const cadiz = createClient({ baseUrl: service.url, apiKey: kept.apiKey });
    const load = (async () => {
      for (let number = 0; !done; number += 1) {
        acknowledged.push((await cadiz.upload(new Blob([`${number}`]), { name: `${number}.txt` })).id);
      }
    })();
    while (acknowledged.length < 4 || receiver.received.length === deliveredBefore) await delay(20);
    const before = acknowledged.length;
    const ended = await admin(['backup', archive()], settings);
    done = true;
    await load;
    release();
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stderr).toContain('contains the secrets of the service');
    acknowledged.length = before;
    await stopService(service);
  }, 120_000);
  afterAll(async () => {
    for (const clean of cleanups) await clean();
    await rm(folder, { recursive: true, force: true });
  });

  it('can be read by its owner only, and is whole', async () => {
    for (const name of await readdir(archive(), { recursive: true })) {
      expect((await stat(join(archive(), name))).mode & 0o077, name).toBe(0);
    }
    expect(await admin(['verify', archive()])).toMatchObject({ code: 0, stdout: 'The backup is whole.\n' });
  });

  it.each(kinds)('is restored into an empty service (%s)', { timeout: 120_000 }, async (other) => {
    const target = await newSettings(other);
    receiver.received.length = 0;
    try {
      const restored = await admin(['restore', archive()], target);
      expect(restored).toMatchObject({ code: 0 });
      expect(restored.stderr).toContain('start it with JANITOR_MARGIN_SECONDS');
      const objects = [settings, target].map(({ CADIZ_DATA_DIR = '' }) => join(CADIZ_DATA_DIR, 'objects'));
      await cp(objects[0] ?? '', objects[1] ?? '', { recursive: true });
      const service = await startService(target);
      await expectKept(service, kept, receiver);
      await expectSignIns(service, kept);
      const ids = [];
      for await (const { id } of createClient({ baseUrl: service.url, apiKey: kept.apiKey }).files.list()) ids.push(id);
      expect(ids).toEqual(expect.arrayContaining(acknowledged));
      await stopService(service);
      const again = await admin(['restore', archive()], target);
      expect(again).toMatchObject({ code: 1 });
      expect(again.stderr).toContain('not empty');
    } finally {
      await cleanUp(target);
    }
  });

  /** Kills the command as soon as it has done something. */
  async function kill(args: string[], own: Settings, hasBegun: () => boolean): Promise<void> {
    const env = { PATH: process.env.PATH ?? '', ...own };
    const child = spawn(process.execPath, [...quickStart, main, 'admin', ...args], {
      cwd: folder,
      env,
      stdio: 'ignore',
    });
    const exit = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)));
    while (!hasBegun() && child.exitCode === null) await delay(2);
    child.kill('SIGKILL');
    expect(await exit).toBe('SIGKILL');
  }

  it('says of its own folder that it cannot be used, not of that of the service', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    expect(await admin(['backup', join(file, 'next')], settings)).toMatchObject({
      code: 1,
      stderr: `A file is in the way of the folder ${join(file, 'next')} (ENOTDIR): name another folder.\n`,
    });
    for (const command of ['verify', 'restore']) {
      expect(await admin([command, file], settings)).toMatchObject({
        code: 1,
        stderr: `A file is in the way of the folder ${join(file, 'manifest.json')} (ENOTDIR): name another folder.\n`,
      });
    }
  });

  it('with objects creates no store where none exists', async () => {
    const { CADIZ_DATA_DIR = '' } = settings;
    const [moved, objects] = ['moved', 'objects'].map((name) => join(CADIZ_DATA_DIR, name)) as [string, string];
    await rename(objects, moved);
    try {
      expect(await admin(['backup', '--objects', join(folder, 'none')], settings)).toMatchObject({
        code: 1,
        stderr: `There is no object store in ${objects}: check CADIZ_DATA_DIR.\n`,
      });
      expect(existsSync(objects)).toBe(false);
    } finally {
      await rename(moved, objects);
    }
  });

  it('stays whole if the next one is killed, which is then made anew', { timeout: 60_000 }, async () => {
    const next = join(folder, 'next');
    await cp(archive(), next, { recursive: true });
    const parts = () => readdirSync(next).filter((name) => name.startsWith('database-'));
    await kill(['backup', next], settings, () => parts().length > 1);
    expect(parts()).toHaveLength(2);
    expect(await admin(['verify', next])).toMatchObject({ code: 0 });
    expect(await admin(['backup', next], settings)).toMatchObject({ code: 0 });
    expect(parts()).toHaveLength(1);
    expect(await admin(['verify', next])).toMatchObject({ code: 0 });
  });

  it.each(kinds)('can be restored after a restore that was killed (%s)', { timeout: 60_000 }, async (other) => {
    const target = await newSettings(other);
    try {
      const secrets = join(target.CADIZ_DATA_DIR ?? '', 'secrets.json');
      await kill(['restore', archive()], target, () => existsSync(secrets));
      expect(await admin(['restore', archive()], target)).toMatchObject({ code: 0 });
    } finally {
      await cleanUp(target);
    }
  });

  it('is refused by a service with another secret, and if it is damaged', { timeout: 60_000 }, async () => {
    const target = await embeddedSettings();
    try {
      const other = await admin(['restore', archive()], { ...target, CADIZ_SECRET: 'x'.repeat(40) });
      expect(other).toMatchObject({ code: 1 });
      expect(other.stderr).toContain('CADIZ_SECRET is not the secret of the backup');
      const damaged = join(folder, 'damaged');
      await cp(archive(), damaged, { recursive: true });
      const manifest = JSON.parse(await readFile(join(damaged, 'manifest.json'), 'utf8'));
      const { path } = manifest.tables.find(({ name }: { name: string }) => name === 'files');
      const text = await readFile(join(damaged, path), 'utf8');
      await writeFile(join(damaged, path), text.replace('kept', 'kebt'));
      for (const command of ['verify', 'restore']) {
        const ended = await admin([command, damaged], target);
        expect(ended.code).toBe(1);
        expect(ended.stdout + ended.stderr).toContain('files.copy is not what was written');
      }
      await rm(join(damaged, 'manifest.json'));
      expect((await admin(['restore', damaged], target)).stderr).toContain('There is no whole backup');
    } finally {
      await cleanUp(target);
    }
  });
});
