import type { Answer, Input } from '@cadiz/contract';
import type { Visitor } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { InBrowser, Keeping } from '../browser.ts';
import { keepEnabledUser } from '../keep-enabled-user.ts';
import { findVantage, rememberDevice } from '../known-devices.ts';
import { findSettledPasswordHash } from '../passwords/password-hash.ts';
import { isOutdated } from '../passwords/passwords.ts';
import { recordRefusedSignIn, recordSignIn } from '../record-sign-in.ts';
import { beginChallenge, type Challenge } from '../second-factor/challenge.ts';
import { endKeptSession } from '../sessions/end-sessions.ts';
import { startSession } from '../sessions/start-session.ts';
import type { Vantage } from '../sign-in-limits.ts';
import { toUserView, type UserRow } from '../user-view.ts';

type SignInDeps = Pick<Deps, 'db' | 'now' | 'secret' | 'passwords' | 'signInLimits'>;

/**
 * Signs in with a password. If the account has a second factor, that is required next, and there is no session yet. A
 * session that the browser already has ends, so that no token outlives a sign-in.
 */
export async function signIn(
  deps: SignInDeps,
  visitor: InBrowser<Visitor>,
  request: Input<'signIn'>,
): Promise<Keeping<Answer<'signIn'>>> {
  await deps.signInLimits.countAddress(visitor.address);
  return deps.passwords.withCapacity(() => tryPassword(deps, visitor, request));
}

async function tryPassword(
  deps: SignInDeps,
  visitor: InBrowser<Visitor>,
  request: Input<'signIn'>,
): Promise<Keeping<Answer<'signIn'>>> {
  const from = await findVantage(deps, visitor.browser.kept.device, request.email);
  return deps.signInLimits.inTurn(request.email, from, () => tryFrom(deps, visitor, request, from));
}

async function tryFrom(
  deps: SignInDeps,
  visitor: InBrowser<Visitor>,
  request: Input<'signIn'>,
  from: Vantage,
): Promise<Keeping<Answer<'signIn'>>> {
  const { signInLimits } = deps;
  const { email } = request;
  const { address } = visitor;
  await signInLimits.countAccount(email, from);
  const entered = await enter(deps, visitor, request).catch(async (error: unknown) => {
    if (error instanceof Problem) {
      await recordRefusedSignIn(deps, visitor, { email });
    }
    throw error;
  });
  await signInLimits.forgiveAddress(address);
  // Nobody is signed in until the code is right, so the attempt still counts against the account.
  if ('challenge' in entered) return toSecondStep(entered);
  await signInLimits.forgiveAccount(email, from);
  return {
    answer: { user: toUserView(entered.user) },
    keep: { session: entered.token, device: await rememberDevice(deps, entered.user.id) },
  };
}

function toSecondStep({ challenge, methods }: Challenge): Keeping<Answer<'signIn'>> {
  return { answer: { twoFactorRedirect: true, twoFactorMethods: methods }, keep: { challenge, session: null } };
}

type Entered = { user: UserRow; token: string } | Challenge;

/** @throws Problem invalid_email_or_password, account_disabled */
async function enter(deps: SignInDeps, visitor: InBrowser<Visitor>, request: Input<'signIn'>): Promise<Entered> {
  const account = await requirePassword(deps, request);
  const entered = await open(deps, visitor, account);
  // The hash was replaced while the password was compared, perhaps by one of the same password with today's parameters.
  if (!entered) return enter(deps, visitor, request);
  await renewHash(deps, account, request.password);
  return entered;
}

interface Account {
  userId: string;
  /** The hash of the password, which was right. */
  hash: string;
}

/** @throws Problem invalid_email_or_password */
async function requirePassword({ db, passwords }: SignInDeps, { email, password }: Input<'signIn'>): Promise<Account> {
  const found = await db.kysely
    .selectFrom('accounts')
    .innerJoin('users', 'users.id', 'accounts.user_id')
    .select(['users.id', 'accounts.password'])
    .where('users.email', '=', email.toLowerCase())
    .where('accounts.provider_id', '=', 'credential')
    .executeTakeFirst();
  const hash = found?.password;
  if (!hash) {
    // An account that does not exist costs the same work.
    await passwords.hash(password);
    throw new Problem('invalid_email_or_password');
  }
  if (!(await passwords.verify({ hash, password }))) throw new Problem('invalid_email_or_password');
  return { userId: found.id, hash };
}

/** @returns undefined if the hash has changed in the meantime @throws Problem account_disabled */
function open(
  { db, now }: SignInDeps,
  visitor: InBrowser<Visitor>,
  { userId, hash }: Account,
): Promise<Entered | undefined> {
  const { browser } = visitor;
  return db.transaction(async (trx) => {
    const at = now();
    const user = await keepEnabledUser(trx, userId);
    if ((await findSettledPasswordHash(trx, userId)) !== hash) return undefined;
    await endKeptSession(trx, browser.kept.session);
    if (user.two_factor_enabled) return beginChallenge(trx, at, userId);
    const token = await startSession(trx, at, userId, visitor);
    await recordSignIn(trx, at, visitor, userId, {});
    return { user, token };
  });
}

/** The password is known only at this moment, so a hash with older parameters is replaced now. */
async function renewHash({ db, passwords }: SignInDeps, { userId, hash }: Account, password: string): Promise<void> {
  if (!isOutdated(hash)) return;
  await db.kysely
    .updateTable('accounts')
    .set({ password: await passwords.hash(password) })
    .where('user_id', '=', userId)
    .where('provider_id', '=', 'credential')
    .where('password', '=', hash)
    .execute();
}
