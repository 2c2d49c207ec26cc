import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeTestFolder } from '../../test/embedded-database.ts';
import { type Person, startTestService, type TestService } from '../../test/service.ts';
import { migrate } from '../db/migrate.ts';
import { openDatabase } from '../db/open.ts';
import { readConfig } from '../settings/config.ts';
import { openUsers } from './open-users.ts';
import { runCommand } from './run-command.ts';

let service: TestService;
let owner: Person;

beforeAll(async () => {
  service = await startTestService();
  owner = await service.signUp('Owner');
});
afterAll(() => service.close());

const run = (command: string, email?: string, revokeApiKeys = false) =>
  runCommand({ ...service.deps, close: async () => undefined }, { command, email, revokeApiKeys });
const isAlive = async (as: Person) => (await service.call('GET', '/api/projects', { as })).status === 200;

async function startSession(person: Person): Promise<Person> {
  const body = { email: person.email, password: 'correct horse battery' };
  const { headers } = await service.call('POST', '/api/auth/sign-in/email', { body });
  return { ...person, cookie: headers.getSetCookie()[0]?.split(';')[0] ?? '' };
}

const signIn = async (email: string, password: string) =>
  (await service.call('POST', '/api/auth/sign-in/email', { body: { email, password } })).status;

describe('what the operator does with npm run users', () => {
  test('reset-password ends every session, opens a closed account, and shows the password once (checklist 8)', async () => {
    const ada = await service.signUp();
    const { key } = await service.createKey(ada, null);
    const said = await run('reset-password', ada.email.toUpperCase());
    const password = /^ {2}([\w-]{20})$/m.exec(said)?.[1] ?? '';
    expect(said).toContain('Ended 1 sessions, removed 0 passkeys, revoked 0 API keys.');
    expect(await isAlive(ada)).toBe(false);
    expect(await signIn(ada.email, 'correct horse battery')).toBe(401);
    expect(await signIn(ada.email, password)).toBe(200);
    expect(await service.deps.apiKeys.find(key)).toBeDefined();
    const { rows } = await service.deps.db.pool.query('select * from accounts');
    expect(JSON.stringify(rows)).not.toContain(password);

    expect(await run('reset-password', ada.email, true)).toContain(
      'Ended 1 sessions, removed 0 passkeys, revoked 1 API keys.',
    );
    expect(await service.deps.apiKeys.find(key)).toBeUndefined();
  });

  test('reset-password gives a first password to who has none', async () => {
    const ada = await service.signUp();
    await service.deps.db.pool.query('delete from accounts where user_id = $1', [ada.id]);
    const password = /^ {2}([\w-]{20})$/m.exec(await run('reset-password', ada.email))?.[1] ?? '';
    expect(await signIn(ada.email, password)).toBe(200);
  });

  test('end-sessions ends every session of an account, and of no other (checklist 10)', async () => {
    const ada = await service.signUp();
    const phone = await startSession(ada);
    expect(await Promise.all([ada, phone].map(isAlive))).toEqual([true, true]);
    expect(await run('end-sessions', ada.email)).toBe(`Ended 2 sessions of ${ada.email}.`);
    expect(await Promise.all([ada, phone, owner].map(isAlive))).toEqual([false, false, true]);
    expect(await isAlive(await startSession(ada))).toBe(true);
  });

  test('disable ends every session, and lets nobody sign in until enable; delete is for good (checklist 7, 10)', async () => {
    const ada = await service.signUp();
    const { key } = await service.createKey(ada, null);
    expect(await run('disable', ada.email)).toContain('Disabled');
    expect(await isAlive(ada)).toBe(false);
    expect(await service.deps.apiKeys.find(key)).toBeUndefined();
    expect(await signIn(ada.email, 'correct horse battery')).toBe(403);
    expect(await run('list')).toMatch(
      new RegExp(`^${ada.email}  member  address not verified  disabled since \\d{4}-`, 'm'),
    );
    await run('enable', ada.email);
    expect(await isAlive(ada)).toBe(false);
    const again = await startSession(ada);
    expect(await isAlive(again)).toBe(true);
    expect(await run('delete', ada.email)).toBe(`Deleted ${ada.email}.`);
    expect(await isAlive(again)).toBe(false);
    expect(await run('list')).not.toContain(ada.email);
  });

  test('verify-email: shown, and set', async () => {
    const ada = await service.signUp();
    expect(await run('list')).toMatch(new RegExp(`^${ada.email}  member  address not verified$`, 'm'));
    expect(await run('list')).toMatch(new RegExp(`^${owner.email}  owner$`, 'm'));
    expect(await run('verify-email', ada.email)).toBe(`The address ${ada.email} now counts as verified.`);
    expect(await run('list')).toMatch(new RegExp(`^${ada.email}  member$`, 'm'));
    const { rows } = await service.deps.db.pool.query(
      `select ip from audit_events where type = 'email.verified' and subject->>'userId' = $1`,
      [ada.id],
    );
    expect(rows).toEqual([{ ip: 'operator' }]);
  });

  test('what cannot be done is said in a sentence', async () => {
    await expect(run('disable', owner.email)).rejects.toThrow('This is the owner of the service');
    await expect(run('disable', 'nobody@example.com')).rejects.toThrow('No account has the e-mail address');
    await expect(run('disable')).rejects.toThrow('needs the e-mail address');
    await expect(run('frobnicate', owner.email)).rejects.toThrow('There is no command frobnicate');
  });
});

describe('where the accounts are', () => {
  const log = pino({ level: 'silent' });

  test('in the embedded database of a service that is stopped, and not of one that runs', async () => {
    const folder = await makeTestFolder();
    const config = readConfig({ CADIZ_DATA_DIR: folder });
    await expect(openUsers(config, log)).rejects.toThrow('There is no database in');

    const running = await openDatabase({ kind: 'embedded', dataDir: join(folder, 'database') });
    await expect(openUsers(config, log)).rejects.toThrow('The service is running');
    await running.close();

    await expect(openUsers(config, log)).rejects.toThrow('does not have the migration 0001-foundation.sql');
    const migrating = await openDatabase({ kind: 'embedded', dataDir: join(folder, 'database') });
    await migrate(migrating.pool);
    await migrating.close();

    const users = await openUsers(config, log);
    expect(await runCommand(users, { command: 'list', email: undefined, revokeApiKeys: false })).toBe(
      'Nobody has an account yet.',
    );
    await users.close();
    await rm(folder, { recursive: true });
  });
});
