import { randomBytes } from 'node:crypto';
import { recordEvent } from '../events/record-event.ts';
import { removePasskeys } from '../identity/passkeys/remove-passkeys.ts';
import { createPasswords } from '../identity/passwords/passwords.ts';
import { setPassword } from '../identity/passwords/set-password.ts';
import { removeSecondFactor } from '../identity/second-factor/remove-second-factor.ts';
import { changeUser } from '../identity/users/change-user.ts';
import { endUserSessions } from '../identity/users/end-user-sessions.ts';
import { listUsers } from '../identity/users/list-users.ts';
import { removeUser } from '../identity/users/remove-user.ts';
import { vouchForEmail } from '../identity/users/vouch-for-email.ts';
import { Problem } from '../problem.ts';
import type { Users } from './open-users.ts';

export interface Command {
  command: string;
  email: string | undefined;
  revokeApiKeys: boolean;
}

/** How the audit names the person at the machine. */
const operator = { kind: 'nobody' as const, address: 'operator' };

/**
 * Runs one command and returns what to print.
 * @throws Problem user_not_found, last_owner, second_factor_not_set_up, passkey_not_found
 */
export async function runCommand(users: Users, { command, email, revokeApiKeys }: Command): Promise<string> {
  if (command === 'list') return list(users);
  const run = commands[command];
  if (!run) throw new Error(`There is no command ${command}: cadiz users --help lists all commands.`);
  if (email === undefined) throw new Error(`The command ${command} needs the e-mail address of an account.`);
  return run(users, await findUser(users, email), revokeApiKeys);
}

type Run = (users: Users, user: { id: string; email: string }, revokeApiKeys: boolean) => Promise<string>;

const commands: Record<string, Run> = {
  'reset-password': resetPassword,
  async 'remove-second-factor'(users, { id, email }) {
    const { endedSessions } = await removeSecondFactor(users, operator, id);
    return `Removed the second factor of ${email}, and ended ${endedSessions} sessions.`;
  },
  async 'remove-passkeys'(users, { id, email }) {
    const { removedPasskeys, endedSessions } = await removePasskeys(users, operator, id);
    return `Removed ${removedPasskeys} passkeys of ${email}, and ended ${endedSessions} sessions.`;
  },
  async 'verify-email'(users, { id, email }) {
    await vouchForEmail(users, operator, id);
    return `The address ${email} now counts as verified.`;
  },
  async 'end-sessions'(users, { id, email }) {
    const { endedSessions } = await endUserSessions(users, operator, { userId: id });
    return `Ended ${endedSessions} sessions of ${email}.`;
  },
  async disable(users, { id, email }) {
    await changeUser(users, operator, { userId: id, disabled: true });
    return `Disabled ${email}: its sessions have ended, and its API keys no longer work.`;
  },
  async enable(users, { id, email }) {
    await changeUser(users, operator, { userId: id, disabled: false });
    return `Enabled ${email}.`;
  },
  async delete(users, { id, email }) {
    await removeUser(users, operator, { userId: id });
    return `Deleted ${email}.`;
  },
};

async function list(users: Users): Promise<string> {
  const lines = (await listAccounts(users)).map(({ email, role, emailVerified, disabledAt }) => {
    const proof = emailVerified ? '' : '  address not verified';
    return `${email}  ${role}${proof}${disabledAt === null ? '' : `  disabled since ${disabledAt}`}`;
  });
  return lines.length === 0 ? 'Nobody has an account yet.' : lines.join('\n');
}

type Account = Awaited<ReturnType<typeof listUsers>>['users'][number];

/** All accounts of the service. */
export async function listAccounts(users: Users): Promise<Account[]> {
  const accounts: Account[] = [];
  let cursor: string | undefined;
  do {
    const page = await listUsers(users, operator, { cursor });
    accounts.push(...page.users);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return accounts;
}

async function findUser({ db }: Users, email: string): Promise<{ id: string; email: string }> {
  const user = await db.kysely
    .selectFrom('users')
    .select(['id', 'email'])
    .where('email', '=', email.toLowerCase())
    .executeTakeFirst();
  if (!user) throw new Problem('user_not_found', `No account has the e-mail address ${email}.`);
  return user;
}

async function resetPassword(
  { db, now, accessChanges, signInLimits }: Users,
  { id: userId, email }: { id: string; email: string },
  revokeApiKeys: boolean,
): Promise<string> {
  const password = randomBytes(15).toString('base64url');
  const hash = await createPasswords().hash(password);
  const ended = await db.transaction(async (trx) => {
    const at = now();
    const set = { userId, hash, by: operator, at: new Date(at), revokeApiKeys, removesPasskeys: true };
    const result = await setPassword(trx, set);
    const subject = { userId, ...result };
    await recordEvent(trx, at, { type: 'password.reset', projectId: null, by: operator, subject });
    return result;
  });
  await signInLimits.openAccount(email);
  await accessChanges.publish({ kind: 'user', id: userId });
  const { endedSessions, revokedApiKeys, removedPasskeys } = ended;
  return `The new password of ${email} is

  ${password}

Ended ${endedSessions} sessions, removed ${removedPasskeys} passkeys, revoked ${revokedApiKeys} API keys. Have the password changed: POST /api/account/password.`;
}
