import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  type APIResponse,
  type Browser,
  type BrowserContext,
  type CDPSession,
  chromium,
  type Page,
} from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { cleanUp, type Service, type Settings, startService, stopService, testedSettings } from './service.ts';

const executablePath = '/usr/bin/chromium';
const installed = existsSync(executablePath);
if (!installed) console.warn(`LEFT OUT: passkeys in a browser, because ${executablePath} is not installed.`);

const password = 'correct horse battery';
let settings: Settings;
let service: Service;
let browser: Browser;
let people = 0;

interface Window {
  context: BrowserContext;
  page: Page;
  devTools: CDPSession;
  authenticatorId: string;
}

let owner: Window;
let ada: Window;

beforeAll(async () => {
  if (!installed) return;
  settings = await testedSettings();
  settings = {
    ...settings,
    CADIZ_PUBLIC_URL: `http://localhost:${settings.PORT}`,
    CADIZ_SIGN_UP: 'open',
    TRUSTED_PROXIES: '127.0.0.1',
  };
  service = await startService(settings);
  const args = '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking';
  browser = await chromium.launch({ executablePath, headless: true, args: args.split(' ') });
  owner = await openWindow();
  await signUp(owner);
});

afterAll(async () => {
  if (!installed) return;
  await browser?.close();
  if (service) await stopService(service);
  await cleanUp(settings);
});

beforeEach(async () => {
  if (installed) ada = await openWindow();
});

/** A separate browser on a page of the service, with an authenticator that its user can unlock. */
async function openWindow({ hasUserVerification = true } = {}): Promise<Window> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`http://localhost:${settings.PORT}/livez`);
  const devTools = await context.newCDPSession(page);
  await devTools.send('WebAuthn.enable');
  const { authenticatorId } = await devTools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: hasUserVerification ? 'internal' : 'usb',
      hasResidentKey: true,
      hasUserVerification,
      isUserVerified: hasUserVerification,
      automaticPresenceSimulation: true,
    },
  });
  return { context, page, devTools, authenticatorId };
}

/**
 * Each person has an address of their own, since one address is allowed ten attempts a minute. The first comes without
 * a proxy, since the owner would otherwise need the setup token.
 */
function post({ context }: Window, path: string, data: object): Promise<APIResponse> {
  const headers = people === 0 ? {} : { 'X-Forwarded-For': `198.51.100.${people % 250}` };
  people += 1;
  return context.request.post(`http://localhost:${settings.PORT}/api/auth/${path}`, { data, headers });
}

const get = ({ context }: Window, path: string) =>
  context.request.get(`http://localhost:${settings.PORT}/api/auth/${path}`);

async function outcome(answer: APIResponse): Promise<string | number> {
  return answer.ok() ? answer.status() : `${answer.status()} ${(await answer.json()).code}`;
}

async function signUp(window: Window): Promise<{ id: string; email: string }> {
  const email = `ada-${people}-${Date.now()}@example.com`;
  const answer = await post(window, 'sign-up/email', { name: 'Ada', email, password });
  expect(await outcome(answer)).toBe(200);
  return (await answer.json()).user;
}

/** The browser's response to the options, as JSON. */
function answerOptions({ page }: Window, kind: 'create' | 'get', options: object): Promise<Record<string, unknown>> {
  const parse = kind === 'create' ? 'parseCreationOptionsFromJSON' : 'parseRequestOptionsFromJSON';
  return page.evaluate(`navigator.credentials
    .${kind}({ publicKey: PublicKeyCredential.${parse}(${JSON.stringify(options)}) })
    .then((credential) => credential.toJSON())`);
}

const makePasskey = async (window: Window) =>
  answerOptions(window, 'create', await (await get(window, 'passkey/generate-register-options')).json());

async function register(window: Window, name?: string): Promise<APIResponse> {
  return post(window, 'passkey/verify-registration', { response: await makePasskey(window), name });
}

const usePasskey = async (window: Window) =>
  answerOptions(window, 'get', await (await get(window, 'passkey/generate-authenticate-options')).json());

async function signIn(window: Window): Promise<APIResponse> {
  return post(window, 'passkey/verify-authentication', { response: await usePasskey(window) });
}

const signOut = (window: Window) => post(window, 'sign-out', {});
const whoIs = async (window: Window) => (await (await get(window, 'get-session')).json())?.user?.id ?? null;

/**
 * Copies the key from a window's authenticator to another one that need not verify its user; returns its id in
 * base64url.
 */
async function copyKey(from: Window, to: Window): Promise<string> {
  const { credentials } = await from.devTools.send('WebAuthn.getCredentials', {
    authenticatorId: from.authenticatorId,
  });
  const [{ credentialId = '', privateKey = '', signCount = 0 } = {}] = credentials;
  // Chromium protects a passkey that it makes: only a plain key signs for anyone who touches the authenticator.
  const credential = {
    credentialId,
    privateKey,
    signCount: signCount + 9,
    isResidentCredential: false,
    rpId: 'localhost',
  };
  await to.devTools.send('WebAuthn.addCredential', { authenticatorId: to.authenticatorId, credential });
  return Buffer.from(credentialId, 'base64').toString('base64url');
}

const suite = installed ? describe : describe.skip;
const leftOut = installed ? '' : ' (LEFT OUT: Chromium is not installed)';

suite(`passkeys in Chromium${leftOut}`, () => {
  test('one can be created and signs in without a name; the token is in the cookie alone, and ends with the next sign-in (checklist 2, 4)', async () => {
    const { id } = await signUp(ada);
    const made = await register(ada, 'Laptop');
    expect(await made.json()).toMatchObject({ name: 'Laptop', id: expect.any(String) });
    await signOut(ada);
    expect(await whoIs(ada)).toBeNull();

    const signedIn = await signIn(ada);
    expect(await signedIn.json()).toEqual({ user: expect.objectContaining({ id }) });
    expect(await whoIs(ada)).toBe(id);
    const cookies = await ada.context.cookies();
    const session = cookies.find(({ name }) => name === 'cadiz.session_token');
    expect(session).toMatchObject({ httpOnly: true, sameSite: 'Lax' });
    const [token = ''] = decodeURIComponent(session?.value ?? '').split('.');
    expect(token.length).toBeGreaterThanOrEqual(32);
    expect(await signedIn.text()).not.toContain(token);

    await signIn(ada);
    expect(await whoIs(ada)).toBe(id);
    const headers = { Cookie: `cadiz.session_token=${session?.value}` };
    const old = await fetch(`${new URL(signedIn.url()).origin}/api/auth/get-session`, { headers });
    expect(await old.json()).toBeNull();
  });

  test('they are listed, renamed and removed only by their owner', async () => {
    await signUp(ada);
    const { id } = await (await register(ada)).json();
    const bob = await openWindow();
    await signUp(bob);
    for (const [path, body] of [
      ['update-passkey', { id, name: 'Mine' }],
      ['delete-passkey', { id }],
    ] as const) {
      const foreign = await (await post(bob, `passkey/${path}`, body)).json();
      const absent = await (await post(bob, `passkey/${path}`, { ...body, id: crypto.randomUUID() })).json();
      expect(foreign).toMatchObject({ status: 404, code: 'passkey_not_found' });
      expect({ ...foreign, requestId: '' }).toEqual({ ...absent, requestId: '' });
    }
    expect((await (await get(bob, 'passkey/list-user-passkeys')).json()).passkeys).toEqual([]);

    expect(await (await post(ada, 'passkey/update-passkey', { id, name: 'Phone' })).json()).toMatchObject({
      name: 'Phone',
    });
    const { passkeys } = await (await get(ada, 'passkey/list-user-passkeys')).json();
    expect(passkeys).toEqual([{ id, name: 'Phone', createdAt: expect.any(String), backedUp: expect.any(Boolean) }]);
    expect(await outcome(await post(ada, 'passkey/delete-passkey', { id }))).toBe(200);
    expect(await outcome(await post(ada, 'passkey/delete-passkey', { id }))).toBe('404 passkey_not_found');
    await signOut(ada);
    expect(await outcome(await signIn(ada))).toBe('401 passkey_refused');
    expect(await whoIs(ada)).toBeNull();
  });

  test('a response counts once, and only in the browser that was asked', async () => {
    await signUp(ada);
    await register(ada);
    await signOut(ada);
    const response = await usePasskey(ada);
    const eve = await openWindow();
    expect(await outcome(await post(eve, 'passkey/verify-authentication', { response }))).toBe('401 passkey_expired');
    await get(eve, 'passkey/generate-authenticate-options');
    expect(await outcome(await post(eve, 'passkey/verify-authentication', { response }))).toBe('401 passkey_refused');
    expect(await outcome(await post(ada, 'passkey/verify-authentication', { response }))).toBe(200);
    await signOut(ada);
    expect(await outcome(await post(ada, 'passkey/verify-authentication', { response }))).toBe('401 passkey_expired');
    expect(await whoIs(eve)).toBeNull();
  });

  test('an altered response, or one signed for another site, is refused', async () => {
    await signUp(ada);
    await register(ada);
    await signOut(ada);
    const alter = async (change: (response: Record<string, string>) => void) => {
      const answered = await usePasskey(ada);
      change(answered.response as Record<string, string>);
      return outcome(await post(ada, 'passkey/verify-authentication', { response: answered }));
    };
    const decode = (text = '') => JSON.parse(Buffer.from(text, 'base64url').toString());
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    expect(
      await alter((response) => {
        const client = decode(response.clientDataJSON);
        response.clientDataJSON = encode({ ...client, origin: 'https://evil.example.com' });
      }),
    ).toBe('401 passkey_refused');
    expect(
      await alter((response) => {
        response.clientDataJSON = encode({ ...decode(response.clientDataJSON), crossOrigin: true, x: 1 });
      }),
    ).toBe('401 passkey_refused');
    expect(
      await alter((response) => {
        const bytes = Buffer.from(response.signature ?? '', 'base64url');
        bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
        response.signature = bytes.toString('base64url');
      }),
    ).toBe('401 passkey_refused');
    expect(await whoIs(ada)).toBeNull();
    expect(await outcome(await signIn(ada))).toBe(200);
  });

  test('a passkey that did not verify its user neither signs in nor is added', async () => {
    await signUp(ada);
    await register(ada);
    const touched = await openWindow({ hasUserVerification: false });
    const id = await copyKey(ada, touched);
    const options = await (await get(touched, 'passkey/generate-authenticate-options')).json();
    expect(options.userVerification).toBe('required');
    const allowCredentials = [{ id, type: 'public-key' }];
    const request = { ...options, allowCredentials, userVerification: 'discouraged' };
    const response = await answerOptions(touched, 'get', request);
    expect(await outcome(await post(touched, 'passkey/verify-authentication', { response }))).toBe(
      '401 passkey_refused',
    );

    await signUp(touched);
    const { authenticatorSelection, ...creation } = await (
      await get(touched, 'passkey/generate-register-options')
    ).json();
    expect(authenticatorSelection.userVerification).toBe('required');
    const made = await answerOptions(touched, 'create', {
      ...creation,
      authenticatorSelection: { userVerification: 'discouraged', residentKey: 'discouraged' },
    });
    expect(await outcome(await post(touched, 'passkey/verify-registration', { response: made }))).toBe(
      '401 passkey_refused',
    );
  });

  test('one is added only by the user who was asked, once, and to one account', async () => {
    await signUp(ada);
    const response = await makePasskey(ada);
    const bob = await openWindow();
    await signUp(bob);
    expect(await outcome(await post(bob, 'passkey/verify-registration', { response }))).toBe('401 passkey_expired');
    await get(bob, 'passkey/generate-register-options');
    expect(await outcome(await post(bob, 'passkey/verify-registration', { response }))).toBe('401 passkey_refused');
    expect(await outcome(await post(ada, 'passkey/verify-registration', { response }))).toBe(200);
    expect(await outcome(await post(ada, 'passkey/verify-registration', { response }))).toBe('401 passkey_expired');
  });

  test('a passkey replaces the second factor', async () => {
    const { id, email } = await signUp(ada);
    await register(ada);
    const { totpURI } = await (await post(ada, 'two-factor/enable', { password })).json();
    const code = toCode(new URL(totpURI).searchParams.get('secret') ?? '');
    expect(await outcome(await post(ada, 'two-factor/verify-totp', { code }))).toBe(200);
    await signOut(ada);
    expect(await (await post(ada, 'sign-in/email', { email, password })).json()).toHaveProperty('twoFactorRedirect');
    expect(await whoIs(ada)).toBeNull();
    expect(await outcome(await signIn(ada))).toBe(200);
    expect(await whoIs(ada)).toBe(id);
  });

  test('a disabled account gets no session (checklist 7)', async () => {
    const { id } = await signUp(ada);
    await register(ada);
    const url = `http://localhost:${settings.PORT}/api/users/${id}`;
    expect((await owner.context.request.patch(url, { data: { disabled: true } })).status()).toBe(200);
    expect(await outcome(await signIn(ada))).toBe('403 account_disabled');
    expect(await whoIs(ada)).toBeNull();
  });

  test('PASSKEYS=off turns them off', async () => {
    const off = await testedSettings();
    const without = await startService({ ...off, PASSKEYS: 'off' });
    try {
      const answer = await fetch(`${without.url}/api/auth/passkey/generate-authenticate-options`);
      expect(await answer.json()).toMatchObject({ status: 404, code: 'sign_in_method_off' });
      expect(await (await fetch(`${without.url}/api/auth/methods`)).json()).toMatchObject({ passkeys: false });
    } finally {
      await stopService(without);
      await cleanUp(off);
    }
  });
});

/** RFC 6238, from base32. */
function toCode(base32: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...base32].map((letter) => letters.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const secret = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const digest = createHmac('sha1', secret).update(counter).digest();
  const offset = (digest[19] ?? 0) & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1e6).padStart(6, '0');
}
