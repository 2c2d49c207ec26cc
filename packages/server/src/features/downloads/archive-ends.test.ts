import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Person, startTestService, type TestService } from '../../../test/service.ts';
import { hashResetToken } from '../../identity/passwords/request-password-reset.ts';
import { runCommand } from '../../users/run-command.ts';

/** Two processes on one database, as behind a load balancer; each opens what the other signs. */
let here: TestService;
let there: TestService;
let owner: Person;
/** The user who creates the addresses, and the same account in another session, on the other process. */
let bob: Person;
let elsewhere: Person;
let projectId: string;

beforeAll(async () => {
  here = await startTestService();
  there = await startTestService({ beside: here });
  there.deps.archiveLinks = here.deps.archiveLinks;
  owner = await here.signUp('Owner');
});
beforeEach(async () => {
  projectId = await here.createProject(owner, 'Shared');
  bob = await here.join(owner, projectId, 'editor');
  elsewhere = { ...bob, cookie: await signIn(there, bob) };
});
afterAll(async () => {
  await there.close();
  await here.close();
});

const password = 'correct horse battery';

async function signIn(service: TestService, { email }: Person, cookie?: string): Promise<string> {
  const headers = cookie === undefined ? {} : { Cookie: cookie };
  const answer = await service.call('POST', '/api/auth/sign-in/email', { body: { email, password }, headers });
  expect(answer.status).toBe(200);
  return answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
}

async function makeLink(as: Person, service = here): Promise<string> {
  const answer = await service.call('POST', '/api/storage/archives', { as, body: { projectId, expiresIn: 604_800 } });
  expect(answer.status).toBe(200);
  return new URL(answer.body.url).pathname;
}

/** The answers of both processes. */
async function follow(link: string): Promise<unknown[]> {
  const answers = [await here.call('GET', link), await there.call('GET', link)];
  return answers.map(({ status, body }) => body?.code ?? status);
}

const alive = [200, 200];
const dead = ['archive_not_found', 'archive_not_found'];

const call = async (service: TestService, as: Person, method: string, path: string, body?: unknown) =>
  expect((await service.call(method, path, { as, body })).status).toBe(200);
const operate = (command: string) =>
  runCommand({ ...there.deps, close: async () => undefined }, { command, email: bob.email, revokeApiKeys: false });

async function resetPassword(): Promise<void> {
  const token = randomBytes(32).toString('base64url');
  await here.deps.db.pool.query('insert into password_resets (token_hash, user_id, expires_at) values ($1, $2, $3)', [
    hashResetToken(token),
    bob.id,
    new Date(here.deps.now() + 60_000),
  ]);
  const body = { token, newPassword: 'another horse battery' };
  expect((await there.call('POST', '/api/auth/reset-password', { body })).status).toBe(200);
}

async function endBobsSession(): Promise<void> {
  const { body } = await here.call('GET', '/api/account/sessions', { as: bob });
  const { id } = body.sessions.find(({ current }: { current: boolean }) => current);
  await call(there, elsewhere, 'DELETE', `/api/account/sessions/${id}`);
}

const newPassword = { currentPassword: password, newPassword: 'another horse battery' };

describe('an archive address ends with the session that made it (checklist 6, 8)', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['signing out', () => call(here, bob, 'POST', '/api/auth/sign-out')],
    ['signing in again with it', () => signIn(here, bob, bob.cookie)],
    ['a changed password', () => call(there, elsewhere, 'POST', '/api/account/password', newPassword)],
    [
      'a changed password, in that session as well',
      () => call(here, bob, 'POST', '/api/account/password', newPassword),
    ],
    ['a password reset by e-mail', resetPassword],
    ['a password reset by the operator', () => operate('reset-password')],
    ['ending that one session', endBobsSession],
    ['ending all other sessions', () => call(there, elsewhere, 'DELETE', '/api/account/sessions')],
    ['the operator’s end-sessions', () => operate('end-sessions')],
    ['the owner ending its sessions', () => call(here, owner, 'DELETE', `/api/users/${bob.id}/sessions`)],
    ['disabling the account', () => call(here, owner, 'PATCH', `/api/users/${bob.id}`, { disabled: true })],
    ['the operator’s disable', () => operate('disable')],
    ['deleting the account', () => call(here, owner, 'DELETE', `/api/users/${bob.id}`)],
    [
      'its longest lifetime',
      () =>
        here.deps.db.pool.query("update sessions set created_at = created_at - interval '31 days' where user_id = $1", [
          bob.id,
        ]),
    ],
    [
      'its expiry',
      () =>
        here.deps.db.pool.query("update sessions set expires_at = now() - interval '1 s' where user_id = $1", [bob.id]),
    ],
  ])('by %s', async (_how, end) => {
    const link = await makeLink(bob);
    expect(await follow(link)).toEqual(alive);
    await end();
    expect(await follow(link)).toEqual(dead);
  });

  test('but not with another session', async () => {
    const link = await makeLink(bob);
    await call(there, elsewhere, 'POST', '/api/auth/sign-out');
    await call(here, owner, 'POST', '/api/auth/sign-out');
    expect(await follow(link)).toEqual(alive);
    owner = { ...owner, cookie: await signIn(here, owner) };
  });

  test('or with the key that made it, and then survives the end of sessions', async () => {
    const { id, key } = await here.createKey(bob, projectId);
    const answer = await here.call('POST', '/api/storage/archives', { key, body: { projectId } });
    const link = new URL(answer.body.url).pathname;
    await operate('end-sessions');
    expect(await follow(link)).toEqual(alive);
    bob = { ...bob, cookie: await signIn(here, bob) };
    await call(here, bob, 'DELETE', `/api/api-keys/${id}`);
    expect(await follow(link)).toEqual(dead);
  });
});
