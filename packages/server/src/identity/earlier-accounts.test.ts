import { createHash, createPrivateKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowser, type TestBrowser } from '../../test/browser.ts';
import { startTestIssuer, type TestIssuer } from '../../test/oidc-issuer.ts';
import { type Answer, startTestService, type TestService } from '../../test/service.ts';
import { readSecret, totp } from '../../test/totp-app.ts';

// Rows and cookies from the last version with Better Auth 1.7.5: version 0.1.0 was started with this secret, Ada signed
// up, added a passkey and a second factor and used one backup code, and Grace signed in through the issuer. The code
// under test created none of this. The clock starts at the moment when they were saved.
const earlier = JSON.parse(readFileSync(new URL('../../test/earlier-accounts.json', import.meta.url), 'utf8'));
const { ada, grace, password } = earlier;
const startedAt = Date.now();
const now = () => Date.parse(earlier.at) + Date.now() - startedAt;

let issuer: TestIssuer;
let service: TestService;

beforeAll(async () => {
  issuer = await startTestIssuer();
  service = await startTestService({
    secret: earlier.secret,
    clock: now,
    settings: { OIDC_ISSUER: issuer.url, OIDC_CLIENT_ID: issuer.clientId, OIDC_CLIENT_SECRET: issuer.clientSecret },
  });
  for (const [table, rows] of Object.entries(earlier.rows)) {
    // The issuer of this run listens on another port.
    const text = JSON.stringify(rows).replaceAll(earlier.issuer, issuer.url);
    const names = [...new Set((rows as object[]).flatMap(Object.keys))].join(', ');
    await service.deps.db.pool.query(
      `insert into ${table} (${names}) select ${names} from jsonb_populate_recordset(null::${table}, $1::jsonb)`,
      [text],
    );
  }
});
afterAll(async () => {
  await service.close();
  await issuer.stop();
});

const outcome = ({ status, body }: Answer) => (body?.code === undefined ? status : `${status} ${body.code}`);
const post = (browser: TestBrowser, path: string, body: object) => browser.call('POST', `/api/auth/${path}`, { body });
const whoIs = async (browser: TestBrowser) => (await browser.call('GET', '/api/auth/get-session')).body?.user.id;

function openWith(cookies: Record<string, string>): TestBrowser {
  const browser = openBrowser(service);
  for (const [name, value] of Object.entries(cookies)) browser.cookies.set(name, value);
  return browser;
}

const secret = readSecret(ada.totpURI);
const [spent, ...backupCodes] = ada.backupCodes as string[];

test('a session goes on, by its cookie', async () => {
  const browser = openWith(ada.cookies);
  expect(await whoIs(browser)).toBe(ada.id);
  expect(outcome(await browser.call('POST', '/api/projects', { body: { name: 'Mine' } }))).toBe(200);
  const { 'cadiz.session_token': cookie, ...rest } = ada.cookies;
  expect(await whoIs(openWith({ ...rest, 'cadiz.session_token': cookie.replace(/^./, 'x') }))).toBeUndefined();
});

test('a password signs in, with the code of the app', async () => {
  const browser = openBrowser(service);
  const wrong = await post(browser, 'sign-in/email', { email: ada.email, password: `${password}!` });
  expect(outcome(wrong)).toBe('401 invalid_email_or_password');
  const { body } = await post(browser, 'sign-in/email', { email: ada.email, password });
  expect(body).toEqual({ twoFactorRedirect: true, twoFactorMethods: ['totp'] });
  // The code that confirmed the second factor is still within its time, but has been used.
  const used = await post(browser, 'two-factor/verify-totp', { code: totp(secret, -1, Date.parse(earlier.at)) });
  expect(outcome(used)).toBe('401 invalid_second_factor');
  expect(outcome(await post(browser, 'two-factor/verify-totp', { code: totp(secret, 1, now()) }))).toBe(200);
  expect(await whoIs(browser)).toBe(ada.id);
});

test('a sign-in that waits for its second factor is finished by a backup code, which counts once', async () => {
  const browser = openWith(ada.waiting);
  expect(outcome(await post(browser, 'two-factor/verify-backup-code', { code: spent }))).toBe(
    '401 invalid_second_factor',
  );
  const [code] = backupCodes;
  expect(outcome(await post(browser, 'two-factor/verify-backup-code', { code }))).toBe(200);
  expect(await whoIs(browser)).toBe(ada.id);
  const again = openBrowser(service);
  await post(again, 'sign-in/email', { email: ada.email, password });
  expect(outcome(await post(again, 'two-factor/verify-backup-code', { code }))).toBe('401 invalid_second_factor');
});

test('a known device stays open to the account that strangers have closed', async () => {
  const guess = () =>
    post(openBrowser(service), 'sign-in/email', { email: ada.email, password: 'wrong horse battery' });
  for (let count = 0; count < 6; count++) await guess();
  const signIn = (browser: TestBrowser) => post(browser, 'sign-in/email', { email: ada.email, password });
  expect(outcome(await signIn(openBrowser(service)))).toBe('429 too_many_attempts');
  expect(outcome(await signIn(openWith({ 'cadiz.device': ada.cookies['cadiz.device'] })))).toBe(200);
});

/** What an authenticator with the key from then signs. */
function assert(challenge: string) {
  const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();
  const client = { type: 'webauthn.get', challenge, origin: service.deps.config.publicUrl, crossOrigin: false };
  const clientDataJSON = Buffer.from(JSON.stringify(client));
  const authenticatorData = Buffer.concat([sha256('localhost'), Buffer.from([0x05, 0, 0, 0, 1])]);
  const key = createPrivateKey({ key: ada.privateKey, format: 'jwk' });
  const signature = sign('sha256', Buffer.concat([authenticatorData, sha256(clientDataJSON)]), key);
  const response = Object.fromEntries(
    Object.entries({ clientDataJSON, authenticatorData, signature }).map(([name, bytes]) => [
      name,
      bytes.toString('base64url'),
    ]),
  );
  const id = ada.credentialId;
  return { response: { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response } };
}

test('a passkey signs in, also as the answer to a question that was asked then', async () => {
  const asked = openWith(ada.asked);
  expect(outcome(await post(asked, 'passkey/verify-authentication', assert(ada.challenge)))).toBe(200);
  expect(await whoIs(asked)).toBe(ada.id);
  const { passkeys } = (await asked.call('GET', '/api/auth/passkey/list-user-passkeys')).body;
  expect(passkeys).toMatchObject([{ name: 'Laptop', backedUp: false }]);
  const { rows } = await service.deps.db.pool.query('select counter from passkeys');
  expect(rows).toEqual([{ counter: 1 }]);
});

test('the issuer opens the same account, and a sign-in that was under way is known', async () => {
  issuer.person = { sub: grace.sub, email: 'grace@example.com', email_verified: true, name: 'Grace' };
  const browser = openBrowser(service);
  const begun = await post(browser, 'sign-in/social', { provider: 'oidc' });
  const back = await fetch(begun.body.url, { redirect: 'manual' });
  const { pathname, search } = new URL(back.headers.get('location') ?? '');
  expect(outcome(await browser.call('GET', pathname + search))).toBe(302);
  expect(await whoIs(browser)).toBe(await whoIs(openWith(grace.cookies)));

  const underWay = openWith({ 'cadiz.oidc': grace.flow });
  const refusal = `/api/auth/callback/oidc?error=access_denied&state=`;
  expect(outcome(await underWay.call('GET', `${refusal}${grace.state}`))).toBe('403 oidc_refused');
  expect(outcome(await underWay.call('GET', `${refusal}another`))).toBe('400 oidc_sign_in_expired');
});
