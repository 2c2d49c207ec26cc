import type { SignInRequest } from '@cadiz/contract';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import type { Database } from '../../db/open.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import type { Config, OidcSettings } from '../../settings/config.ts';
import {
  type AccountAnswer,
  type AuthSettings,
  answer,
  callAuth,
  clientAddressHeader,
  createAuth,
  toCookies,
} from './auth.ts';
import { endMade } from './end-sessions.ts';
import { createKnownDevices, findVantage, type KnownDevices } from './known-devices.ts';
import { createOidc, type Oidc } from './oidc.ts';
import { createPasskeys, type Passkeys } from './passkeys.ts';
import { createPasswords, isOutdated, type Passwords } from './password.ts';
import { findPasswordHash, findSettledPasswordHash } from './password-hash.ts';
import type { Setup } from './setup.ts';
import { createSignInLimits, type SignInLimits } from './sign-in-limits.ts';
import { createSecondFactor, type SecondFactor } from './totp.ts';

export interface AccountSettings extends AuthSettings {
  signUp: Config['signUp'];
  /** What the first sign-up may need; undefined when the service started with an account. */
  setup: Setup | undefined;
  oidc: OidcSettings | undefined;
  passkeys: boolean;
  /** Whether an account can get a second factor. */
  secondFactor: boolean;
}

/**
 * Sign-in and sessions. Better Auth does the work; only what is named here can be reached. All headers are to have the
 * address of the client as `clientAddressHeader`. Signing up is `sign-up.ts`.
 */
export interface Accounts {
  passwords: Passwords;
  limits: SignInLimits;
  devices: KnownDevices;
  /** What the first sign-up may need. */
  setup: Setup | undefined;
  /** The cookie of a session, by its token. */
  setSessionCookie(token: string): Promise<string[]>;
  /**
   * A session that the request has already ends, so that no token outlives a sign-in.
   * @throws Problem invalid_email_or_password, account_disabled, too_many_sign_ins, too_many_attempts
   */
  signIn(headers: Headers, request: z.output<typeof SignInRequest>): Promise<AccountAnswer>;
  signOut(headers: Headers): Promise<AccountAnswer>;
  getSession(headers: Headers): Promise<AccountAnswer>;
  /** The signed-in user behind a cookie. */
  findCaller(headers: Headers): Promise<(SessionCaller & { sessionId: string }) | undefined>;
  /** Signing in with an OpenID Connect issuer, where one is set. */
  oidc: Oidc | undefined;
  secondFactor: SecondFactor;
  /** Undefined where they are switched off. */
  passkeys: Passkeys | undefined;
}

export function createAccounts(
  settings: AccountSettings,
  db: Database,
  now: () => number,
  log: Logger,
  passwords = createPasswords(),
): Accounts {
  const limits = createSignInLimits(db);
  const auth = createAuth(settings, db, log, passwords, now);
  const devices = createKnownDevices(settings, db);

  /** Better Auth's sign-in, which counts only if the password is right at its end, too. @throws Problem invalid_email_or_password */
  async function checkPassword(
    headers: Headers,
    { email, password }: z.output<typeof SignInRequest>,
  ): Promise<AccountAnswer> {
    const before = await findPasswordHash(db, email);
    const made = await answer(() => auth.api.signInEmail({ body: { email, password }, headers, returnHeaders: true }));
    const hash = await findSettledPasswordHash(db, email);
    // Another hash may be of the same password: one of older parameters that another sign-in has renewed.
    if (hash !== undefined && (hash === before || (await passwords.verify({ hash, password })))) return made;
    await endMade(db.kysely, made.cookies);
    throw new Problem('invalid_email_or_password');
  }

  async function signIn(headers: Headers, request: z.output<typeof SignInRequest>): Promise<AccountAnswer> {
    const { email, password } = request;
    const address = addressOf(headers);
    const from = await findVantage(devices, headers, email);
    await limits.countAccount(email, from);
    const made = await checkPassword(headers, request).catch(async (error: unknown) => {
      if (error instanceof Problem) {
        const by = { kind: 'nobody' as const, address };
        await recordEvent(db.kysely, now(), { type: 'sign_in.failed', projectId: null, by, subject: { email } });
      }
      throw error;
    });
    const { user } = made.body as { user?: { id: string } };
    await endPresent(headers);
    if (!user) {
      // Whoever still owes a second factor is not signed in yet, so this counts for the account until the code was right.
      await limits.forgiveAddress(address);
      return made;
    }
    await limits.forgiveAddress(address);
    await limits.forgiveAccount(email, from);
    await renewHash(user.id, password);
    const by = { kind: 'session' as const, userId: user.id, address };
    await recordEvent(db.kysely, now(), { type: 'sign_in.succeeded', projectId: null, by, subject: {} });
    return { ...made, cookies: [...made.cookies, ...(await devices.remember(user.id))] };
  }

  /** The one moment at which the password is known: a hash of older parameters becomes one of today's. */
  async function renewHash(userId: string, password: string): Promise<void> {
    const account = await db.kysely
      .selectFrom('accounts')
      .select(['id', 'password'])
      .where('user_id', '=', userId)
      .where('provider_id', '=', 'credential')
      .executeTakeFirst();
    if (!account?.password || !isOutdated(account.password)) return;
    await db.kysely
      .updateTable('accounts')
      .set({ password: await passwords.hash(password) })
      .where('id', '=', account.id)
      .where('password', '=', account.password)
      .execute();
  }

  async function findCaller(headers: Headers): Promise<(SessionCaller & { sessionId: string }) | undefined> {
    // Only GET /api/auth/get-session prolongs a session, since only it can set the cookie anew.
    const call = () => auth.api.getSession({ headers, query: { disableRefresh: true } });
    const session = await callAuth(call);
    return session ? { kind: 'session', userId: session.user.id, sessionId: session.session.id } : undefined;
  }

  /** The session that a request has before it gets another one, so that no token outlives a sign-in. */
  async function endPresent(headers: Headers): Promise<void> {
    const present = await findCaller(headers);
    if (present) await db.kysely.deleteFrom('sessions').where('id', '=', present.sessionId).execute();
  }

  return {
    passwords,
    limits,
    devices,
    setup: settings.setup,
    async setSessionCookie(token) {
      const call = () => auth.api.setSessionCookie({ body: { token }, returnHeaders: true });
      return toCookies((await callAuth(call)).headers);
    },
    async signIn(headers, request) {
      await limits.countAddress(addressOf(headers));
      return passwords.withCapacity(() => signIn(headers, request));
    },
    async signOut(headers) {
      // Better Auth hides a session that it failed to delete, and would say that somebody is signed out who is not.
      const session = await findCaller(headers);
      if (session) {
        await db.transaction(async (trx) => {
          await trx.deleteFrom('sessions').where('id', '=', session.sessionId).execute();
          const by = { kind: 'session' as const, userId: session.userId, address: addressOf(headers) };
          await recordEvent(trx, now(), { type: 'sign_out', projectId: null, by, subject: {} });
        });
      }
      return answer(() => auth.api.signOut({ headers, returnHeaders: true }));
    },
    getSession: (headers) => answer(() => auth.api.getSession({ headers, returnHeaders: true })),
    findCaller,
    oidc: settings.oidc && createOidc(settings.oidc, settings, { db, now, log, endPresent }),
    passkeys: settings.passkeys ? createPasskeys(auth, { limits, db, now, endPresent }) : undefined,
    secondFactor: createSecondFactor(auth, { isOn: settings.secondFactor, passwords, limits, devices, db, now }),
  };
}

function addressOf(headers: Headers): string {
  return headers.get(clientAddressHeader) ?? 'unknown';
}
