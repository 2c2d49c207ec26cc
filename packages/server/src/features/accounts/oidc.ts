import { randomBytes } from 'node:crypto';
import { type EventType, email as emailAddress, type OidcAnswerQuery, type OidcRequest } from '@cadiz/contract';
import { type BetterAuthPlugin, betterAuth, type GenericEndpointContext, type User } from 'better-auth';
import { createAuthEndpoint, getSessionFromCtx } from 'better-auth/api';
import { expireCookie, setSessionCookie } from 'better-auth/cookies';
import { symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';
import pg from 'pg';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import type { Database } from '../../db/open.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import type { Config, OidcSettings } from '../../settings/config.ts';
import { type AuthSettings, callAuth, clientAddressHeader, toAuthOptions, toCookies } from './auth.ts';
import { createAccount } from './create-account.ts';
import { type Claims, createIssuer, type Issuer } from './oidc-issuer.ts';
import { proveEmail } from './prove-email.ts';
import { requireEnabled } from './require-enabled.ts';
import { sameText } from './same-text.ts';
import { hasSetupToken, requireSetupToken, type Setup } from './setup.ts';

/** Signing in with an OpenID Connect issuer. Better Auth keeps the accounts and the sessions; who gets in is said here. */
export interface Oidc {
  /** What people call the issuer. */
  name: string;
  /**
   * Where the browser is sent, and the cookie that ties the sign-in to it.
   * @param linkTo whose account is tied to the one of the issuer, instead of signing in
   * @throws Problem setup_token_required, oidc_unavailable
   */
  begin(
    headers: Headers,
    request: z.output<typeof OidcRequest>,
    linkTo?: SessionCaller,
  ): Promise<{ body: { url: string; redirect: true }; cookies: string[] }>;
  /**
   * What the browser comes back with. An account is opened by issuer and subject, never by an e-mail address alone.
   * @throws Problem oidc_sign_in_expired, oidc_refused, oidc_answer_invalid, oidc_email_not_verified,
   *   oidc_account_not_linked, oidc_email_differs, oidc_account_taken, oidc_unavailable, account_disabled,
   *   sign_up_closed, setup_token_required, invitation_not_found
   */
  finish(
    headers: Headers,
    answer: z.output<typeof OidcAnswerQuery>,
    address?: string,
  ): Promise<{ location: string; cookies: string[] }>;
}

/** What the browser keeps of a sign-in under way, encrypted in a cookie: nothing of it is written down here. */
const Flow = z.object({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  callbackUrl: z.string(),
  expiresAt: z.number(),
  linkTo: z.string().optional(),
  invitation: z.string().optional(),
  hasSetupToken: z.boolean(),
});
type Flow = z.output<typeof Flow>;

interface Rules extends AuthSettings {
  signUp: Config['signUp'];
  setup: Setup | undefined;
}

interface Tools {
  settings: OidcSettings;
  rules: Rules;
  issuer: Issuer;
  db: Database;
  now: () => number;
}

const flowSeconds = 600;

interface Surroundings {
  db: Database;
  now: () => number;
  log: Logger;
  /** Ends the session that a request has before it gets another one. */
  endPresent(headers: Headers): Promise<void>;
}

export function createOidc(settings: OidcSettings, rules: Rules, { db, now, log, endPresent }: Surroundings): Oidc {
  const issuer = createIssuer(settings, `${rules.publicUrl}/api/auth/callback/oidc`, now, log);
  const tools: Tools = { settings, rules, issuer, db, now };
  const auth = betterAuth({
    ...toAuthOptions(rules, db, log, now),
    plugins: [toPlugin(tools)],
  });

  return {
    name: settings.name,
    async begin(headers, { callbackURL }, linkTo) {
      // Told before anybody signs in elsewhere in vain.
      if (!(await hasAnybody(db))) requireSetupToken(rules.setup, headers);
      const flow: Flow = {
        state: random(),
        nonce: random(),
        codeVerifier: random(),
        callbackUrl: rules.publicUrl + callbackURL,
        expiresAt: now() + flowSeconds * 1000,
        linkTo: linkTo?.userId,
        invitation: headers.get('x-invitation') ?? undefined,
        hasSetupToken: hasSetupToken(rules.setup, headers),
      };
      const url = await issuer.authorizationUrl(flow);
      const { headers: answered } = await callAuth(() =>
        auth.api.keepOidcFlow({ body: flow, headers, returnHeaders: true }),
      );
      return { body: { url, redirect: true }, cookies: toCookies(answered) };
    },
    async finish(headers, query, address) {
      const { headers: answered, response } = await callAuth(() =>
        auth.api.finishOidcFlow({ body: query, headers, returnHeaders: true }),
      );
      const { userId, done, location } = response;
      if (done.includes('sign_in.succeeded')) await endPresent(headers);
      const by = { kind: 'session', userId, address } as const;
      for (const type of done) {
        await recordEvent(db.kysely, now(), {
          type,
          projectId: null,
          by,
          subject: { userId, issuer: settings.issuer },
        });
      }
      return { location, cookies: toCookies(answered) };
    },
  };
}

const random = () => randomBytes(32).toString('base64url');

/** Endpoints without a path: they are called from here, and cannot be reached in another way. */
function toPlugin(tools: Tools) {
  const answer = z.object({
    state: z.string().optional(),
    code: z.string().optional(),
    error: z.string().optional(),
    iss: z.string().optional(),
  });
  return {
    id: 'oidc',
    endpoints: {
      keepOidcFlow: createAuthEndpoint.serverOnly({ method: 'POST', body: Flow }, async (context) => {
        const { name, attributes } = toFlowCookie(context);
        const data = JSON.stringify(context.body);
        context.setCookie(name, await symmetricEncrypt({ key: context.context.secret, data }), attributes);
        return {};
      }),
      finishOidcFlow: createAuthEndpoint.serverOnly(
        { method: 'POST', body: answer, requireHeaders: true },
        async (context) => {
          const { state, code, error, iss } = context.body;
          const flow = await takeFlow(context, state, tools.now());
          if (error !== undefined) throw refused(error);
          if (code === undefined) throw new Problem('oidc_answer_invalid');
          // Before the code is spent on somebody who is not signed in any more.
          const linker = flow.linkTo === undefined ? undefined : await requireUser(context, flow.linkTo);
          const claims = await tools.issuer.redeem({ ...flow, code, iss });
          const outcome = linker
            ? await linkAccount(context, tools, linker, claims)
            : await signIn(context, tools, flow, claims);
          return { ...outcome, location: flow.callbackUrl };
        },
      ),
    },
  } satisfies BetterAuthPlugin;
}

function toFlowCookie({ context }: GenericEndpointContext) {
  return context.createAuthCookie('oidc', { maxAge: flowSeconds });
}

/** The sign-in that this browser has begun. @throws Problem oidc_sign_in_expired */
async function takeFlow(context: GenericEndpointContext, state: string | undefined, now: number): Promise<Flow> {
  const cookie = toFlowCookie(context);
  const data = context.getCookie(cookie.name);
  if (!data || state === undefined) throw new Problem('oidc_sign_in_expired');
  const text = await symmetricDecrypt({ key: context.context.secret, data }).catch(() => 'null');
  const flow = Flow.safeParse(JSON.parse(text));
  if (!flow.success || !sameText(state, flow.data.state) || flow.data.expiresAt < now) {
    throw new Problem('oidc_sign_in_expired');
  }
  expireCookie(context, cookie);
  return flow.data;
}

/** The issuer's own word (RFC 6749 §4.1.2.1) is repeated only if it is one. */
function refused(error: string): Problem {
  const word = /^[a-z_]{1,64}$/.test(error) ? error : 'something else than the standard knows';
  return new Problem('oidc_refused', `The issuer has not signed you in: ${word}.`);
}

/** Whose account it was about, and what is to be written down. */
interface Outcome {
  userId: string;
  done: EventType[];
}

/** @throws Problem account_disabled, and what signUp throws */
async function signIn(context: GenericEndpointContext, tools: Tools, flow: Flow, claims: Claims): Promise<Outcome> {
  const { internalAdapter } = context.context;
  const known = await findOwner(context, tools, claims);
  const user =
    known ??
    (await signUp(context, tools, flow, claims).catch(async (error: unknown) => {
      // The same person in another window was faster: what refuses a second account is their own.
      const made = await findOwner(context, tools, claims);
      if (made) return made;
      throw error;
    }));
  await requireEnabled(tools.db, user.id);
  const session = await internalAdapter.createSession(user.id);
  await setSessionCookie(context, { session, user });
  return { userId: user.id, done: ['sign_in.succeeded'] };
}

async function findOwner({ context }: GenericEndpointContext, { settings }: Tools, { sub }: Claims) {
  const key = { providerId: settings.issuer, accountId: sub };
  const owner = await context.internalAdapter.findAccountOwnerByKey(key);
  return owner?.kind === 'owned' ? owner.user : undefined;
}

/**
 * An account for who signs in for the first time.
 * @throws Problem oidc_email_not_verified, oidc_account_not_linked, invitation_not_found, sign_up_closed,
 *   setup_token_required
 */
async function signUp(context: GenericEndpointContext, tools: Tools, flow: Flow, claims: Claims): Promise<User> {
  const { db, now, settings } = tools;
  const { internalAdapter } = context.context;
  const email = requireVerifiedEmail(claims);
  // Whoever made that account need not own the address: they may never have been asked for proof of it.
  if (await internalAdapter.findUserByEmail(email)) throw new Problem('oidc_account_not_linked');
  const { invitation } = flow;
  const account = {
    name: toName(claims.name, email),
    email,
    role: invitation === undefined ? await requireMaySignUp(tools, flow, email) : 'member',
    emailVerified: true,
    mustVerifyEmail: false,
    signIn: { issuer: settings.issuer, subject: claims.sub },
    invitation,
    address: context.headers?.get(clientAddressHeader) ?? 'unknown',
  } as const;
  try {
    const { id } = await db.transaction((trx) => createAccount(trx, now(), account));
    const user = await internalAdapter.findUserById(id);
    if (!user) throw new Problem('account_disabled');
    return user;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== uniqueViolation) throw error;
    // Somebody was faster, such as another owner. The rules of now apply.
    return signUp(context, tools, flow, claims);
  }
}

const uniqueViolation = '23505';

async function requireMaySignUp(
  { db, rules, settings }: Tools,
  flow: Flow,
  email: string,
): Promise<'owner' | 'member'> {
  const isWelcome = rules.signUp === 'open' || isLetIn(settings.signUp, email);
  if (await hasAnybody(db)) {
    if (!isWelcome) throw new Problem('sign_up_closed');
    return 'member';
  }
  if (rules.signUp === 'closed' && !isWelcome) throw new Problem('sign_up_closed');
  if (!flow.hasSetupToken) throw new Problem('setup_token_required');
  return 'owner';
}

function isLetIn(signUp: OidcSettings['signUp'], email: string): boolean {
  if (typeof signUp === 'string') return signUp === 'open';
  return signUp.includes(email.slice(email.lastIndexOf('@') + 1));
}

/** Who began to tie accounts must be who comes back. @throws Problem oidc_sign_in_expired */
async function requireUser(context: GenericEndpointContext, userId: string): Promise<User> {
  const session = await getSessionFromCtx(context, { disableRefresh: true });
  if (session?.user.id !== userId) throw new Problem('oidc_sign_in_expired');
  return session.user;
}

/** @throws Problem oidc_email_not_verified, oidc_email_differs, oidc_account_taken */
async function linkAccount(
  context: GenericEndpointContext,
  tools: Tools,
  user: User,
  claims: Claims,
): Promise<Outcome> {
  if (requireVerifiedEmail(claims) !== user.email) throw new Problem('oidc_email_differs');
  const owner = await findOwner(context, tools, claims);
  if (owner?.id === user.id) return { userId: user.id, done: [] };
  if (owner) throw new Problem('oidc_account_taken');
  const { internalAdapter } = context.context;
  await internalAdapter.createAccount({
    userId: user.id,
    providerId: tools.settings.issuer,
    accountId: claims.sub,
  });
  await tools.db.transaction((trx) => proveEmail(trx, user.id));
  return { userId: user.id, done: ['identity.linked'] };
}

function requireVerifiedEmail({ email, emailVerified }: Claims): string {
  const checked = emailAddress.safeParse(email?.toLowerCase());
  if (!checked.success || !emailVerified) throw new Problem('oidc_email_not_verified');
  return checked.data;
}

/** A name as a person may type one, or the e-mail address. */
function toName(name: string | undefined, email: string): string {
  const clean = (name ?? '')
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim();
  return clean.slice(0, 60) || email;
}

async function hasAnybody({ kysely }: Database): Promise<boolean> {
  return (await kysely.selectFrom('users').select('id').limit(1).executeTakeFirst()) !== undefined;
}
