import type { SignUpRequest, User } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import pg from 'pg';
import type { z } from 'zod';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { Answered } from './auth.ts';
import { clientAddressHeader } from './auth.ts';
import { requireUncommonPassword } from './common-passwords.ts';
import { createAccount } from './create-account.ts';
import { postEmailVerification } from './email-verification.ts';
import { requireSetupToken } from './setup.ts';
import { startSession } from './start-session.ts';

type SignUpDeps = Pick<Deps, 'db' | 'now' | 'config' | 'accounts' | 'mail'>;

/**
 * Makes an account with a password, and signs in to it. The account, its first session, the membership from an invitation,
 * and the audit events are made in one transaction. Where there is a mail server, a message is sent to verify the e-mail address;
 * only what `requireProvenEmail` guards has to wait for that.
 * @param headers with the address of the client as `clientAddressHeader`
 * @throws Problem sign_up_closed, setup_token_required, invitation_not_found, account_exists, password_too_common,
 *   too_many_sign_ins, too_many_attempts
 */
export async function signUp(
  deps: SignUpDeps,
  headers: Headers,
  request: z.output<typeof SignUpRequest>,
): Promise<Answered<{ user: z.output<typeof User> }>> {
  const { passwords, limits, devices, setSessionCookie } = deps.accounts;
  const address = headers.get(clientAddressHeader) ?? 'unknown';
  await requireUncommonPassword(request.password, [request.name, request.email]);
  await limits.countAddress(address);
  const { user, token } = await passwords.withCapacity(() => makeAccount(deps, headers, address, request));
  // A sign-up that sends a message to an address that anyone can name counts, so that it is not a way to send many.
  if (user.email_verified || !deps.mail) await limits.forgiveAddress(address);
  else postEmailVerification(deps, user.id);
  await limits.openAccount(user.email);
  const cookies = [...(await setSessionCookie(token)), ...(await devices.remember(user.id))];
  return { body: { user: toUserView(user) }, cookies };
}

async function makeAccount(
  deps: SignUpDeps,
  headers: Headers,
  address: string,
  request: z.output<typeof SignUpRequest>,
): Promise<{ user: Selectable<Schema['users']>; token: string }> {
  const { db, now, accounts, mail } = deps;
  const invitation = headers.get('x-invitation') ?? undefined;
  const role = invitation === undefined ? await requireOpenSignUp(deps, headers) : 'member';
  const hash = await accounts.passwords.hash(request.password);
  const isOwner = role === 'owner';
  const account = {
    name: request.name,
    email: request.email,
    role,
    // The owner of the service has the setup token, or the machine.
    emailVerified: isOwner,
    // An invited account is somebody's guest. Any other may be a stranger's, with anyone's address.
    mustVerifyEmail: !isOwner && invitation === undefined && mail !== undefined,
    signIn: { hash },
    invitation,
    address,
  } as const;
  try {
    return await db.transaction(async (trx) => {
      const at = now();
      const user = await createAccount(trx, at, account);
      const session = { userId: user.id, address, userAgent: headers.get('user-agent') };
      return { user, token: await startSession(trx, at, session) };
    });
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== uniqueViolation) throw error;
    if (error.constraint !== 'users_one_owner') throw new Problem('account_exists');
    // Somebody else became the owner in this very moment: the rules for the second account apply now.
    return makeAccount(deps, headers, address, request);
  }
}

const uniqueViolation = '23505';

/**
 * The role of a new account. Where only the first may sign up, that is always the owner: there can be only one, so the
 * unique index refuses whoever comes second, however narrowly.
 * @throws Problem sign_up_closed, setup_token_required
 */
async function requireOpenSignUp({ db, config, accounts }: SignUpDeps, headers: Headers): Promise<'owner' | 'member'> {
  if (config.signUp === 'closed') throw new Problem('sign_up_closed');
  const anybody = await db.kysely.selectFrom('users').select('id').limit(1).executeTakeFirst();
  if (!anybody) {
    requireSetupToken(accounts.setup, headers);
    return 'owner';
  }
  if (config.signUp === 'first') throw new Problem('sign_up_closed');
  return 'member';
}

function toUserView(user: Selectable<Schema['users']>): z.output<typeof User> {
  return {
    id: user.id,
    name: user.name,
    email: user.email,
    emailVerified: user.email_verified,
    image: user.image,
    role: user.role,
    twoFactorEnabled: user.two_factor_enabled,
    createdAt: user.created_at.toISOString(),
    updatedAt: user.updated_at.toISOString(),
  };
}
