import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientError,
  ClientSecretPost,
  Configuration,
  calculatePKCECodeChallenge,
  clockTolerance,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  type IDToken,
  ResponseBodyError,
  type ServerMetadata,
} from 'openid-client';
import type { Logger } from 'pino';
import { z } from 'zod';
import { Problem } from '../../problem.ts';
import type { OidcSettings } from '../../settings/config.ts';
import { isLoopback } from '../../settings/loopback.ts';

/** The issuer's claims about somebody, each checked for its type. */
export interface Claims {
  sub: string;
  email: string | undefined;
  emailVerified: boolean;
  name: string | undefined;
}

/** The values that bind a sign-in to its browser: created when it begins, checked when it ends. */
export interface Checks {
  state: string;
  nonce: string;
  codeVerifier: string;
}

/** What the browser brings back from the issuer (RFC 6749 §4.1.2, RFC 9207 §2). */
export interface IssuerAnswer {
  state: string;
  code: string;
  iss: string | undefined;
}

/** The OpenID Connect issuer, as its client sees it. */
export interface Issuer {
  /** The name under which accounts are linked to it, and who may sign up. */
  settings: Pick<OidcSettings, 'issuer' | 'signUp'>;
  /** Where to send the browser. @throws Problem oidc_unavailable */
  authorizationUrl(checks: Checks): Promise<string>;
  /** The person who has signed in there. @throws Problem oidc_answer_invalid, oidc_unavailable */
  redeem(answer: IssuerAnswer, checks: Checks): Promise<Claims>;
}

const answerSeconds = 5;
const discoveredMilliseconds = 3_600_000;
const retryAfterSeconds = '5';

const endpoint = z.url().refine(isPrivateOnTheWay, { error: 'must be https, or http on loopback' });
const Endpoints = z.object({
  authorization_endpoint: endpoint,
  token_endpoint: endpoint,
  jwks_uri: endpoint,
  userinfo_endpoint: endpoint.optional(),
});

const Person = z.object({
  // OpenID Connect Core 1.0 §2: ASCII, 255 characters at most.
  sub: z.string().regex(/^[\x20-\x7e]{1,255}$/),
  email: z.string().optional().catch(undefined),
  email_verified: z.union([z.boolean(), z.stringbool()]).optional().catch(undefined),
  name: z.string().optional().catch(undefined),
});

/**
 * A client of one issuer: the authorization code flow with PKCE. Discovery waits for the first sign-in, and is retried
 * after a failure, so the service starts and recovers whatever the issuer does.
 */
export function createIssuer(
  settings: OidcSettings,
  { publicUrl, now, log }: { publicUrl: string; now: () => number; log: Logger },
): Issuer {
  const redirectUri = `${publicUrl}/api/auth/callback/oidc`;
  const scope = settings.scopes.join(' ');
  const discoverNow = rememberFor(discoveredMilliseconds, now, () => discover(settings));

  /** One for each sign-in: a client remembers keys, and the issuer may sign with new ones at any time. */
  async function getClient(): Promise<Configuration> {
    const metadata = await discoverNow().catch((cause: unknown) => {
      throw unavailable(cause);
    });
    return toClient(settings, metadata);
  }

  function toProblem(error: unknown): Problem {
    if (!isRefusal(error)) return unavailable(error);
    const { message } = error.cause instanceof Error ? error.cause : error;
    log.warn({ reason: message }, 'An answer of the OpenID Connect issuer was refused');
    return new Problem('oidc_answer_invalid');
  }

  return {
    settings,
    authorizationUrl: async (checks) => toAuthorizationUrl(await getClient(), { checks, redirectUri, scope }),
    async redeem(answer, checks) {
      const client = await getClient();
      return redeemCode(client, toCallback(redirectUri, answer), checks).catch((error: unknown) => {
        throw toProblem(error);
      });
    },
  };
}

function unavailable(cause: unknown): Problem {
  return new Problem('oidc_unavailable', undefined, { cause, headers: { 'Retry-After': retryAfterSeconds } });
}

/** Caches what `make` resolves with for a while; a failure is forgotten at once. */
function rememberFor<T>(milliseconds: number, now: () => number, make: () => Promise<T>): () => Promise<T> {
  let made: { until: number; value: Promise<T> } | undefined;
  return () => {
    if (made && made.until > now()) return made.value;
    const current = { until: now() + milliseconds, value: make() };
    made = current;
    current.value.catch(() => {
      if (made === current) made = undefined;
    });
    return current.value;
  };
}

async function discover({ issuer, clientId }: OidcSettings): Promise<ServerMetadata> {
  const client = await discovery(new URL(issuer), clientId, undefined, undefined, {
    timeout: answerSeconds,
    execute: issuer.startsWith('http:') ? [allowInsecureRequests] : [],
  });
  const metadata = client.serverMetadata();
  // Compared exactly: the library ignores a slash at the end.
  if (metadata.issuer !== issuer) {
    throw new Error(`The issuer calls itself ${metadata.issuer}, and OIDC_ISSUER must be exactly that`);
  }
  Endpoints.parse(metadata);
  return metadata;
}

function toClient(settings: OidcSettings, metadata: ServerMetadata): Configuration {
  const { issuer, clientId } = settings;
  const client = new Configuration(metadata, clientId, { [clockTolerance]: 60 }, authenticateBy(settings));
  client.timeout = answerSeconds;
  // Signatures of ID tokens are checked although they arrive over TLS: not every proxy on the way is the issuer's.
  enableNonRepudiationChecks(client);
  if (issuer.startsWith('http:')) allowInsecureRequests(client);
  return client;
}

/**
 * RFC 6749 §2.3.1: in the header, or in the body if the issuer does not accept the header. The library's own
 * `ClientSecretBasic` also encodes `-`, `.` and `_`, which issuers that do not decode would take for another secret.
 */
function authenticateBy({ clientId, clientSecret }: OidcSettings): ClientAuth {
  const inBody = ClientSecretPost(clientSecret);
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  const credentials = Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64');
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const takesNoHeader = !methods.includes('client_secret_basic') && methods.includes('client_secret_post');
    if (takesNoHeader) inBody(server, client, body, headers);
    else headers.set('authorization', `Basic ${credentials}`);
  };
}

async function toAuthorizationUrl(
  client: Configuration,
  { checks, redirectUri, scope }: { checks: Checks; redirectUri: string; scope: string },
): Promise<string> {
  return buildAuthorizationUrl(client, {
    redirect_uri: redirectUri,
    scope,
    state: checks.state,
    nonce: checks.nonce,
    code_challenge: await calculatePKCECodeChallenge(checks.codeVerifier),
    code_challenge_method: 'S256',
  }).href;
}

/** The URL that the browser returned to. */
function toCallback(redirectUri: string, { state, code, iss }: IssuerAnswer): URL {
  const url = new URL(redirectUri);
  url.search = new URLSearchParams({ state, code, ...(iss === undefined ? {} : { iss }) }).toString();
  return url;
}

async function redeemCode(client: Configuration, callback: URL, checks: Checks): Promise<Claims> {
  const tokens = await authorizationCodeGrant(client, callback, {
    expectedState: checks.state,
    expectedNonce: checks.nonce,
    pkceCodeVerifier: checks.codeVerifier,
    idTokenExpected: true,
  });
  const claims = tokens.claims();
  if (!claims) throw new WrongAnswer('there is no ID token');
  const { client_id } = client.clientMetadata();
  // The library requires this only if there are several audiences.
  if (claims.azp !== undefined && claims.azp !== client_id) {
    throw new WrongAnswer('the ID token was issued to another client');
  }
  return toClaims(await completeClaims(client, claims, tokens.access_token));
}

/** The ID token need not contain the e-mail address; if not, the userinfo endpoint has it. */
async function completeClaims(client: Configuration, claims: IDToken, accessToken: string): Promise<object> {
  if (claims.email !== undefined || !client.serverMetadata().userinfo_endpoint) return claims;
  return { ...(await fetchUserInfo(client, accessToken, claims.sub)), ...claims };
}

function toClaims(claims: object): Claims {
  const person = Person.safeParse(claims);
  if (!person.success) throw new WrongAnswer('the ID token names nobody');
  const { sub, email, email_verified, name } = person.data;
  return { sub, email, emailVerified: email_verified === true, name };
}

/** An invalid answer that the library accepts. */
class WrongAnswer extends Error {}

/** Codes of the library's errors for an issuer that cannot be reached, or that answers what no issuer should. */
const unavailableCodes = new Set([
  undefined,
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_HTTP_REQUEST_FORBIDDEN',
  'OAUTH_REQUEST_PROTOCOL_FORBIDDEN',
  'OAUTH_MISSING_SERVER_METADATA',
  'OAUTH_INVALID_SERVER_METADATA',
]);

/** Whether an answer is invalid, as opposed to the issuer being down or the client being misconfigured. */
function isRefusal(error: unknown): error is Error {
  if (error instanceof ResponseBodyError) return error.status === 400 && error.error !== 'invalid_client';
  return error instanceof WrongAnswer || (error instanceof ClientError && !unavailableCodes.has(error.code));
}

function isPrivateOnTheWay(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}
