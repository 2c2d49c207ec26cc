import type { SignInRequest, SignUpRequest } from '@cadiz/contract';
import pg from 'pg';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { OidcSettings } from '../../config.ts';
import type { Database } from '../../db/open.ts';
import type { SessionCaller } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { acceptInvitation, isInvited } from '../invitations/accept-invitation.ts';
import { type AccountAnswer, type Auth, type AuthSettings, answer, createAuth, toProblem } from './auth.ts';
import { inAuthContext } from './auth-context.ts';
import { createOidc, type Oidc } from './oidc.ts';
import { withHashingCapacity } from './password.ts';
import { sameText } from './same-text.ts';

export interface AccountSettings extends AuthSettings {
  /** Asked of the first sign-up when the service listens beyond loopback. */
  setupToken: string | undefined;
  oidc: OidcSettings | undefined;
}

/** Sign-up, sign-in and sessions. Better Auth does the work; only what is named here can be reached. */
export interface Accounts {
  /** @throws Problem sign_up_closed, setup_token_required, invitation_not_found, account_exists, too_many_sign_ins */
  signUp(headers: Headers, request: z.output<typeof SignUpRequest>): Promise<AccountAnswer>;
  /** @throws Problem invalid_email_or_password, too_many_sign_ins */
  signIn(headers: Headers, request: z.output<typeof SignInRequest>): Promise<AccountAnswer>;
  signOut(headers: Headers): Promise<AccountAnswer>;
  getSession(headers: Headers): Promise<AccountAnswer>;
  /** The signed-in user behind a cookie. */
  findCaller(headers: Headers): Promise<(SessionCaller & { sessionId: string }) | undefined>;
  /** Signing in with an OpenID Connect issuer, where one is set. */
  oidc: Oidc | undefined;
}

export function createAccounts(settings: AccountSettings, db: Database, now: () => number, log: Logger): Accounts {
  const auth = createAuth(settings, db, log);
  // Who is invited is no owner, and comes in where only the first account may be made.
  const authOfInvited = settings.signUp === 'first' ? createAuth({ ...settings, signUp: 'open' }, db, log) : auth;

  async function requireOpenSignUp(headers: Headers): Promise<void> {
    if (settings.signUp === 'closed') throw new Problem('sign_up_closed');
    const anybody = await db.kysely.selectFrom('users').select('id').limit(1).executeTakeFirst();
    if (anybody) {
      if (settings.signUp === 'first') throw new Problem('sign_up_closed');
    } else if (settings.setupToken !== undefined && !sameText(headers.get('x-setup-token'), settings.setupToken)) {
      throw new Problem('setup_token_required');
    }
  }

  async function signUp(headers: Headers, request: z.output<typeof SignUpRequest>): Promise<AccountAnswer> {
    await requireOpenSignUp(headers);
    try {
      return await makeAccount(auth, headers, request);
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || error.code !== uniqueViolation) throw error;
      if (error.constraint !== 'users_one_owner') throw new Problem('account_exists');
      // Somebody else became the owner in this very moment: the rules for the second account apply now.
      return signUp(headers, request);
    }
  }

  /** Two sign-ups by one invitation have one e-mail address, of which there can be one account. */
  async function signUpInvited(
    headers: Headers,
    token: string,
    request: z.output<typeof SignUpRequest>,
  ): Promise<AccountAnswer> {
    if (!(await isInvited(db, token, request.email, now()))) throw new Problem('invitation_not_found');
    const made = await makeAccount(authOfInvited, headers, request).catch((error: unknown) => {
      const isTaken = error instanceof pg.DatabaseError && error.code === uniqueViolation;
      throw isTaken ? new Problem('account_exists') : error;
    });
    const { user } = made.body as { user: { id: string } };
    await acceptInvitation({ db, now }, { kind: 'session', userId: user.id }, { token });
    return made;
  }

  return {
    signUp: (headers, request) =>
      withHashingCapacity(() => {
        const invitation = headers.get('x-invitation');
        return invitation === null ? signUp(headers, request) : signUpInvited(headers, invitation, request);
      }),
    signIn: (headers, { email, password }) =>
      withHashingCapacity(() =>
        answer(() => auth.api.signInEmail({ body: { email, password }, headers, returnHeaders: true })),
      ),
    async signOut(headers) {
      // Better Auth hides a session that it failed to delete, and would say that somebody is signed out who is not.
      const { body } = await answer(() =>
        auth.api.getSession({ headers, query: { disableRefresh: true }, returnHeaders: true }),
      );
      const session = (body as { session: { id: string } } | null)?.session;
      if (session) await db.kysely.deleteFrom('sessions').where('id', '=', session.id).execute();
      return answer(() => auth.api.signOut({ headers, returnHeaders: true }));
    },
    getSession: (headers) => answer(() => auth.api.getSession({ headers, returnHeaders: true })),
    async findCaller(headers) {
      // Only GET /api/auth/get-session prolongs a session, since only it can set the cookie anew.
      const call = () => auth.api.getSession({ headers, query: { disableRefresh: true } });
      const session = await inAuthContext(call).catch((error: unknown) => {
        throw toProblem(error);
      });
      return session ? { kind: 'session', userId: session.user.id, sessionId: session.session.id } : undefined;
    },
    oidc: settings.oidc && createOidc(settings.oidc, settings, db, now, log),
  };
}

const uniqueViolation = '23505';

function makeAccount(
  auth: Auth,
  headers: Headers,
  { name, email, password }: z.output<typeof SignUpRequest>,
): Promise<AccountAnswer> {
  return answer(() => auth.api.signUpEmail({ body: { name, email, password }, headers, returnHeaders: true }));
}
