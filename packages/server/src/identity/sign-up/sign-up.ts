import type { Answer, Input } from '@cadiz/contract';
import type { Visitor } from '../../access/caller.ts';
import { isUniqueViolation } from '../../db/database-errors.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { Browser, InBrowser, Keeping } from '../browser.ts';
import { rememberDevice } from '../known-devices.ts';
import { requireUncommonPassword } from '../passwords/common-passwords.ts';
import { endKeptSession } from '../sessions/end-sessions.ts';
import { startSession } from '../sessions/start-session.ts';
import { toUserView, type UserRow } from '../user-view.ts';
import { createAccount, type NewAccount } from '../users/create-account.ts';
import { hasAnybody } from '../users/has-anybody.ts';
import { postEmailVerification } from '../users/post-email-verification.ts';
import { requireSetupToken } from './setup.ts';

type SignUpDeps = Pick<Deps, 'db' | 'now' | 'config' | 'secret' | 'setup' | 'passwords' | 'signInLimits' | 'mail'>;

/**
 * Creates an account with a password, and signs in to it. One transaction creates the account, its first session, the
 * membership from an invitation, and the audit events, and ends the session that the browser already has. If there is a mail server, a message is sent to verify the
 * e-mail address; only what `requireProvenEmail` guards has to wait for that.
 */
export async function signUp(
  deps: SignUpDeps,
  visitor: InBrowser<Visitor>,
  request: Input<'signUp'>,
): Promise<Keeping<Answer<'signUp'>>> {
  const { passwords, signInLimits, mail } = deps;
  const { address } = visitor;
  await requireUncommonPassword(request.password, [request.name, request.email]);
  await signInLimits.countAddress(address);
  const { user, token } = await passwords.withCapacity(() => makeAccount(deps, visitor, request));
  // A sign-up that sends a message counts, since anybody can name any address: otherwise it could be used to send many.
  if (user.email_verified || !mail) await signInLimits.forgiveAddress(address);
  else postEmailVerification(deps, user.id);
  await signInLimits.openAccount(user.email);
  return {
    answer: { user: toUserView(user) },
    keep: { session: token, device: await rememberDevice(deps, user.id) },
  };
}

async function makeAccount(
  deps: SignUpDeps,
  visitor: InBrowser<Visitor>,
  request: Input<'signUp'>,
): Promise<{ user: UserRow; token: string }> {
  const { db, now } = deps;
  const account = await toAccount(deps, visitor, request);
  try {
    return await db.transaction(async (trx) => {
      const at = now();
      const user = await createAccount(trx, at, account);
      const token = await startSession(trx, at, user.id, visitor);
      await endKeptSession(trx, visitor.browser.kept.session);
      return { user, token };
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    if (error.constraint !== 'users_one_owner') throw new Problem('account_exists');
    // Somebody else has just become the owner: now the rules for the second account apply.
    return makeAccount(deps, visitor, request);
  }
}

async function toAccount(
  deps: SignUpDeps,
  { address, requestId, browser }: InBrowser<Visitor>,
  { name, email, password }: Input<'signUp'>,
): Promise<NewAccount> {
  const { invitation } = browser;
  const role = invitation === undefined ? await requireOpenSignUp(deps, browser) : 'member';
  const isOwner = role === 'owner';
  return {
    name,
    email,
    role,
    // The owner of the service has the setup token, or access to the machine.
    emailVerified: isOwner,
    // An invited account is somebody's guest. Any other may be a stranger's, with anybody's address.
    mustVerifyEmail: !isOwner && invitation === undefined && deps.mail !== undefined,
    signIn: { hash: await deps.passwords.hash(password) },
    invitation,
    address,
    requestId,
  };
}

/**
 * The role of a new account. If only the first may sign up, that is always the owner: there can be only one, so the
 * unique index refuses the second, however close together they are.
 * @throws Problem sign_up_closed, setup_token_required
 */
async function requireOpenSignUp(
  { db, config, setup }: Pick<Deps, 'db' | 'config' | 'setup'>,
  browser: Browser,
): Promise<'owner' | 'member'> {
  if (config.signUp === 'closed') throw new Problem('sign_up_closed');
  if (!(await hasAnybody(db))) {
    requireSetupToken(setup, browser);
    return 'owner';
  }
  if (config.signUp === 'first') throw new Problem('sign_up_closed');
  return 'member';
}
