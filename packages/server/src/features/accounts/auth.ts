import type { ErrorCode } from '@cadiz/contract';
import { type BetterAuthOptions, type BetterAuthPlugin, betterAuth } from 'better-auth';
import { APIError, createAuthEndpoint } from 'better-auth/api';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import { idleSeconds } from '../../access/session-lifetime.ts';
import type { Database } from '../../db/open.ts';
import { Problem } from '../../problem.ts';
import { inAuthContext } from './auth-context.ts';
import { toPasskeyPlugin } from './passkey-plugin.ts';
import type { Passwords } from './password.ts';
import { createSessionStore } from './session-store.ts';
import { toSecondFactorPlugins } from './totp-plugins.ts';

export interface AuthSettings {
  publicUrl: string;
  /** Signs the session cookies. */
  secret: string;
}

/** The JSON and the cookies of an answer about accounts. */
export interface Answered<T> {
  body: T;
  cookies: string[];
}
export type AccountAnswer = Answered<unknown>;

/** Where Better Auth finds the address of a client: whoever calls it sets this header, whatever the request has. */
export const clientAddressHeader = 'x-cadiz-client-address';

export type Auth = ReturnType<typeof createAuth>;

/** Better Auth for passwords and sessions; what of it can be reached is for its callers to say. */
export function createAuth(settings: AuthSettings, db: Database, log: Logger, passwords: Passwords, now: () => number) {
  return betterAuth({
    ...toAuthOptions(settings, db, log, now),
    // How long a password must be is said by the contract, which counts it in the form that is hashed.
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: 1,
      maxPasswordLength: 1024,
      password: passwords,
    },
    plugins: [sessionCookiePlugin, ...toSecondFactorPlugins(db, now), toPasskeyPlugin(settings.publicUrl)],
  });
}

/** The cookie of a session that `startSession` has made. The endpoint has no path, so only this code reaches it. */
const sessionCookiePlugin = {
  id: 'session-cookie',
  endpoints: {
    setSessionCookie: createAuthEndpoint.serverOnly(
      { method: 'POST', body: z.object({ token: z.string() }) },
      async (context) => {
        const { authCookies, secret, sessionConfig } = context.context;
        const { name, attributes } = authCookies.sessionToken;
        await context.setSignedCookie(name, context.body.token, secret, {
          ...attributes,
          maxAge: sessionConfig.expiresIn,
        });
        return {};
      },
    ),
  },
} satisfies BetterAuthPlugin;

/** What every set-up of Better Auth here has in common. */
export function toAuthOptions({ publicUrl, secret }: AuthSettings, db: Database, log: Logger, now: () => number) {
  const isSecure = publicUrl.startsWith('https:');
  return {
    baseURL: publicUrl,
    secret,
    database: createSessionStore(db.kysely, { now }),
    telemetry: { enabled: false },
    // Its limiter believes X-Forwarded-For; limits are ours.
    rateLimit: { enabled: false },
    logger: {
      level: 'error',
      log: (level, message, ...rest) =>
        log[level === 'error' ? 'error' : 'debug']({ from: 'better-auth', error: rest[0] }, message),
    },
    advanced: {
      // __Host-: browsers take such a cookie only over https, and from no other host of the domain. Better Auth's own
      // prefix is the weaker __Secure-.
      cookiePrefix: isSecure ? '__Host-cadiz' : 'cadiz',
      useSecureCookies: false,
      defaultCookieAttributes: { secure: isSecure },
      database: { generateId: () => uuidv7() },
      ipAddress: { ipAddressHeaders: [clientAddressHeader], ipv6Subnet: 128 },
    },
    user: {
      modelName: 'users',
      fields: { emailVerified: 'email_verified', createdAt: 'created_at', updatedAt: 'updated_at' },
      additionalFields: {
        role: { type: 'string', input: false, required: false },
        disabledAt: { type: 'date', input: false, required: false, returned: false, fieldName: 'disabled_at' },
      },
    },
    session: {
      expiresIn: idleSeconds,
      updateAge: 3600,
      // How old a session may be that adds a passkey.
      freshAge: 3600,
      modelName: 'sessions',
      fields: {
        userId: 'user_id',
        expiresAt: 'expires_at',
        ipAddress: 'ip_address',
        userAgent: 'user_agent',
        createdAt: 'created_at',
        updatedAt: 'updated_at',
      },
    },
    account: {
      modelName: 'accounts',
      fields: {
        userId: 'user_id',
        accountId: 'account_id',
        providerId: 'provider_id',
        accessToken: 'access_token',
        refreshToken: 'refresh_token',
        idToken: 'id_token',
        accessTokenExpiresAt: 'access_token_expires_at',
        refreshTokenExpiresAt: 'refresh_token_expires_at',
        createdAt: 'created_at',
        updatedAt: 'updated_at',
      },
    },
    verification: {
      // What a cookie names is in no row as it is.
      storeIdentifier: 'hashed',
      // A job removes what has expired, not each sign-in.
      disableCleanup: true,
      modelName: 'verifications',
      fields: { expiresAt: 'expires_at', createdAt: 'created_at', updatedAt: 'updated_at' },
    },
  } satisfies BetterAuthOptions;
}

/** What Better Auth answers, and its errors as ours. @throws Problem */
export function callAuth<T>(call: () => Promise<T>): Promise<T> {
  return inAuthContext(call).catch((error: unknown) => {
    throw toProblem(error);
  });
}

/** Better Auth's answer in our shape, with no token outside of the cookie. @throws Problem */
export async function answer(call: () => Promise<{ headers: Headers; response: unknown }>): Promise<AccountAnswer> {
  const { headers, response } = await callAuth(call);
  return { body: withoutTokens(response as Record<string, unknown> | null), cookies: toCookies(headers) };
}

/** What Better Auth calls things that have a page of their own here. */
const problemsOf: Record<string, ErrorCode> = {
  CHALLENGE_NOT_FOUND: 'passkey_expired',
  YOU_ARE_NOT_ALLOWED_TO_REGISTER_THIS_PASSKEY: 'passkey_expired',
  FAILED_TO_VERIFY_REGISTRATION: 'passkey_refused',
  PASSKEY_NOT_FOUND: 'passkey_refused',
  AUTHENTICATION_FAILED: 'passkey_refused',
  SESSION_NOT_FRESH: 'session_not_fresh',
  INVALID_PASSWORD: 'wrong_password',
  INVALID_CODE: 'invalid_second_factor',
  INVALID_BACKUP_CODE: 'invalid_second_factor',
  INVALID_TWO_FACTOR_COOKIE: 'second_factor_expired',
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: 'second_factor_expired',
  ACCOUNT_TEMPORARILY_LOCKED: 'second_factor_locked',
  TOTP_ALREADY_ENABLED: 'second_factor_set_up',
  TOTP_NOT_ENABLED: 'second_factor_not_set_up',
  TWO_FACTOR_NOT_ENABLED: 'second_factor_not_set_up',
  BACKUP_CODES_NOT_ENABLED: 'second_factor_not_set_up',
};
const lockedHeaders = { 'Retry-After': '900' };

export function toProblem(error: unknown): unknown {
  if (!(error instanceof APIError)) return error;
  if (error.cause) return error.cause;
  const code = String(error.body?.code ?? '');
  if (code === 'INVALID_EMAIL_OR_PASSWORD') return new Problem('invalid_email_or_password');
  // Of two uses of one backup code at the same moment, the slower is a conflict without a code.
  const known = error.statusCode === 409 ? 'invalid_second_factor' : problemsOf[code];
  if (known) return new Problem(known, undefined, known === 'second_factor_locked' ? { headers: lockedHeaders } : {});
  // The session has ended since the route asked for it.
  if (error.statusCode === 401) return new Problem('session_required');
  if (error.statusCode < 500) return new Problem('invalid_request', error.body?.message);
  return error;
}

function withoutTokens(body: Record<string, unknown> | null): unknown {
  if (!body) return null;
  if (body.success !== undefined) return { success: body.success };
  const { twoFactorRedirect, twoFactorMethods } = body;
  if (twoFactorRedirect) return { twoFactorRedirect, twoFactorMethods };
  const { session } = body as { session?: { id: string; userId: string; expiresAt: string } };
  if (!session) return { user: body.user };
  const { id, userId, expiresAt } = session;
  return { session: { id, userId, expiresAt }, user: body.user };
}

/** What an endpoint of Better Auth sets, if anything. */
export function toCookies(headers: Headers | null | undefined): string[] {
  return headers?.getSetCookie() ?? [];
}
