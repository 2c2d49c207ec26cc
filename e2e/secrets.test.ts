import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../packages/server/src/db/open.ts';
import { createSecrecy } from '../packages/server/test/secrecy.ts';
import { cleanUp, type Exit, type Settings, startService, stopService, testedSettings } from './service.ts';

const secrecy = createSecrecy();
const password = 'a password that nobody has';
let settings: Settings;
let url: string;
let exit: Exit;
let welcome: string;

interface Sent {
  key?: string;
  cookie?: string;
  body?: unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever came
async function ask(method: string, path: string, { key, cookie, body }: Sent = {}): Promise<any> {
  const response = await fetch(url + path, {
    method,
    redirect: 'manual',
    headers: {
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...(cookie === undefined ? {} : { Cookie: cookie }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  const answer = isJson ? JSON.parse(text) : {};
  secrecy.rememberAnswer(response.headers, answer);
  return { ...answer, status: response.status, cookie: response.headers.getSetCookie()[0]?.split(';')[0] ?? '' };
}

async function put(address: string, bytes: string): Promise<string> {
  const response = await fetch(address, { method: 'PUT', body: bytes });
  expect(response.status).toBe(200);
  return response.headers.get('etag') ?? '';
}

/** Uses everything that carries a credential, both correctly and incorrectly. */
async function useEverything(): Promise<void> {
  const signUp = (name: string) =>
    ask('POST', '/api/auth/sign-up/email', { body: { name, email: `${name}@example.com`, password } });
  const [{ cookie }, eve] = [await signUp('ada'), await signUp('eve')];
  await ask('POST', '/api/auth/sign-in/email', { body: { email: 'ada@example.com', password } });
  await ask('POST', '/api/auth/sign-in/email', { body: { email: 'ada@example.com', password: `${password}!` } });
  await ask('POST', '/api/auth/sign-in/email', { body: `{"email":"ada@example.com","password":"${password}` });
  await signUp('ada');
  const projectId = (await ask('POST', '/api/projects', { cookie, body: { name: 'P' } })).id;

  const made = await ask('POST', '/api/api-keys', { cookie, body: { name: 'K', projectId } });
  const { key } = await ask('POST', `/api/api-keys/${made.id}/rotate`, { cookie, body: {} });
  expect(key).toMatch(/^cz_live_/);
  for (const path of [
    `/api/storage/list?key=${key}`,
    `/api/storage/files/${key}`,
    `/${key}`,
    `/api/projects?x=${cookie}`,
  ])
    await ask('GET', path, { key: made.key });
  await ask('POST', '/api/storage/presign', { key, body: `{"key":"${key}"` });
  await ask('GET', '/api/projects', { cookie: `${cookie}x` });
  await ask('GET', `/api/storage/list?projectId=${projectId}`, { key: `${key.slice(0, -1)}!` });

  const email = 'eve@example.com';
  const invited = await ask('POST', `/api/projects/${projectId}/invitations`, {
    cookie,
    body: { email, role: 'editor' },
  });
  const token = invited.url.split('#')[1];
  await ask('POST', '/api/invitations/accept', { cookie, body: { token } });
  expect((await ask('POST', '/api/invitations/accept', { cookie: eve.cookie, body: { token } })).status).toBe(200);

  const facts = { projectId, fileName: 'a.txt', mimeType: 'text/plain', fileSize: 5, folderId: null };
  const { presignedUrl, storeKey } = await ask('POST', '/api/storage/presign', { key, body: facts });
  await put(presignedUrl, 'bytes');
  // Again, too long, and with another signature: the store may log what it refuses.
  await fetch(presignedUrl, { method: 'PUT', body: 'again' });
  await fetch(presignedUrl, { method: 'PUT', body: 'too long' });
  await fetch(presignedUrl.replace(/.$/, '~'), { method: 'PUT', body: 'bytes' });
  const file = await ask('POST', '/api/storage/record', { key, body: { ...facts, storeKey } });
  const wanted = { projectId, folderId: null, maxFiles: 1, maxBytes: 5 };
  const { ticket } = await ask('POST', '/api/storage/tickets', { key, body: wanted });
  expect(ticket).toMatch(/^cz_ticket_/);
  for (const credential of [ticket, `${ticket}!`, `${ticket.slice(0, -1)}!`, ticket]) {
    await ask('POST', '/api/storage/presign', { key: credential, body: facts });
  }
  for (const path of [`/api/storage/tickets/${ticket}`, `/api/storage/list?ticket=${ticket}`, `/${ticket}`]) {
    await ask('GET', path, { key: ticket });
  }
  const download = await ask('POST', `/api/storage/files/${file.id}/url`, { key, body: {} });
  // Only the embedded store accepts an address only once.
  expect(await (await fetch(download.url)).text()).toBe(settings.S3_ENDPOINT ? 'again' : 'bytes');
  await ask('GET', `/api/storage/files/${file.id}/content`, { key });
  const archive = await ask('POST', '/api/storage/archives', { key, body: { projectId } });
  expect((await ask('GET', new URL(archive.url).pathname)).status).toBe(200);
  await ask('GET', `${new URL(archive.url).pathname}x`);

  const { uploadId } = await ask('POST', '/api/storage/uploads', { key, body: facts });
  const { parts } = await ask('POST', `/api/storage/uploads/${uploadId}/parts`, { key, body: { partNumbers: [1] } });
  await put(parts[0].presignedUrl, 'bytes');
  expect((await ask('POST', `/api/storage/uploads/${uploadId}/complete`, { key, body: {} })).status).toBe(200);
  await ask('DELETE', `/api/api-keys/${made.id}`, { cookie });
  expect((await ask('GET', '/api/projects', { key: made.key, cookie })).status).toBe(401);
  await ask('POST', '/api/auth/sign-out', { cookie });
}

beforeAll(async () => {
  settings = { ...(await testedSettings()), LOG_LEVEL: 'debug', CADIZ_SIGN_UP: 'open' };
  settings.CADIZ_SECRET = randomBytes(32).toString('base64url');
  if (!settings.S3_ENDPOINT) {
    settings.STORE_ACCESS_KEY_ID = 'STOREACCESSKEY';
    settings.STORE_SECRET_ACCESS_KEY = randomBytes(30).toString('base64url');
  }
  for (const secret of [
    password,
    settings.CADIZ_SECRET,
    settings.STORE_SECRET_ACCESS_KEY,
    settings.S3_SECRET_ACCESS_KEY,
  ]) {
    secrecy.remember(secret);
  }
  const service = await startService(settings);
  ({ url, welcome } = service);
  await useEverything();
  exit = await stopService(service);
});
afterAll(() => cleanUp(settings));

test('the most detailed log contains no credential (checklist 46, T25)', () => {
  expect(exit.code).toBe(0);
  // The welcome shows an example of how to sign up.
  const printed = exit.stdout.replace(welcome, '') + exit.stderr;
  expect(printed.match(/"msg":"A (?:slow )?request"/g)?.length).toBeGreaterThan(30);
  expect(secrecy.findIn(printed)).toBeUndefined();
});

test('no row of the database contains a credential: a dump gives nobody access (checklist 27, T30)', async () => {
  const { DATABASE_URL, CADIZ_DATA_DIR = '' } = settings;
  const db = await openDatabase(
    DATABASE_URL
      ? { kind: 'postgres', url: DATABASE_URL }
      : { kind: 'embedded', dataDir: join(CADIZ_DATA_DIR, 'database') },
  );
  expect((await db.pool.query('select 1 from api_keys')).rowCount).toBe(2);
  expect(await secrecy.findInDatabase(db)).toBeUndefined();
  await db.close();
});

test('no file in the data folder contains one except secrets.json, which only its owner may read', () => {
  const folder = settings.CADIZ_DATA_DIR ?? '';
  const isNeeded = !(settings.DATABASE_URL && settings.S3_ENDPOINT);
  expect(existsSync(folder)).toBe(isNeeded);
  if (!isNeeded) return;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile()) continue;
    if (entry.name === 'secrets.json') expect(statSync(path).mode & 0o777).toBe(0o600);
    else
      expect([path, secrecy.findIn(readFileSync(path, 'latin1').replaceAll('$argon2id$', ''))]).toEqual([
        path,
        undefined,
      ]);
  }
});

test('the search would find them', () => {
  expect(secrecy.findIn(`x ${password} y`)).toBeDefined();
  expect(secrecy.findIn(`/?secret=${settings.CADIZ_SECRET}`)).toBeDefined();
  expect(secrecy.findIn(`cz_live_${'x'.repeat(49)}`)).toBeDefined();
});
