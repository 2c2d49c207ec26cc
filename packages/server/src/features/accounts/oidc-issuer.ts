import { createHash } from 'node:crypto';
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Logger } from 'pino';
import { z } from 'zod';
import { Problem } from '../../problem.ts';
import type { OidcSettings } from '../../settings/config.ts';
import { isLoopback } from '../../settings/loopback.ts';

/** What the issuer says of somebody, each claim checked for its type. */
export interface Claims {
  sub: string;
  email: string | undefined;
  emailVerified: boolean;
  name: string | undefined;
}

/** What one sign-in is made of, beside the code. */
export interface Proof {
  code: string;
  codeVerifier: string;
  nonce: string;
  /** The parameter `iss` of the answer (RFC 9207). */
  iss: string | undefined;
}

/** The OpenID Connect issuer as its client sees it. */
export interface Issuer {
  /** Where the browser is sent. @throws Problem oidc_unavailable */
  authorizationUrl(request: { state: string; nonce: string; codeVerifier: string }): Promise<string>;
  /** Who has signed in there. @throws Problem oidc_answer_invalid, oidc_unavailable */
  redeem(proof: Proof): Promise<Claims>;
}

const answerMilliseconds = 5_000;
const discoveredMilliseconds = 3_600_000;
const retryAfterSeconds = '5';
/** Signatures by a key that only the issuer has: never `none`, and never HMAC with the client secret. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

const endpoint = z.url().refine(isPrivateOnTheWay, { error: 'must be https, or http on loopback' });
const Metadata = z.object({
  issuer: z.string(),
  authorization_endpoint: endpoint,
  token_endpoint: endpoint,
  jwks_uri: endpoint,
  userinfo_endpoint: endpoint.optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).default(['client_secret_basic']),
  authorization_response_iss_parameter_supported: z.boolean().default(false),
});
type Discovered = z.output<typeof Metadata> & { keys: JWTVerifyGetKey };

const TokenAnswer = z.object({ id_token: z.string(), access_token: z.string().optional() });
const Person = z.object({
  // OpenID Connect Core 1.0 §2: ASCII, 255 characters at the most.
  sub: z.string().regex(/^[\x20-\x7e]{1,255}$/),
  email: z.string().optional().catch(undefined),
  email_verified: z.union([z.boolean(), z.stringbool()]).optional().catch(undefined),
  name: z.string().optional().catch(undefined),
});

/**
 * A client of one issuer: discovery, the authorization code flow with PKCE, and the checks of the ID token.
 * Discovery waits for the first sign-in and is tried again after a failure, so that the service starts, and recovers,
 * whatever the issuer does.
 * @see https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation
 */
export function createIssuer(settings: OidcSettings, redirectUri: string, now: () => number, log: Logger): Issuer {
  let discovered: { until: number; metadata: Promise<Discovered> } | undefined;

  function discover(): Promise<Discovered> {
    if (discovered && discovered.until > now()) return discovered.metadata;
    const metadata = fetchMetadata(settings.issuer);
    const current = { until: now() + discoveredMilliseconds, metadata };
    discovered = current;
    metadata.catch(() => {
      if (discovered === current) discovered = undefined;
    });
    return metadata;
  }

  async function requireMetadata(): Promise<Discovered> {
    return discover().catch((cause: unknown) => {
      throw unavailable(cause);
    });
  }

  function invalid(reason: string): Problem {
    log.warn({ reason }, 'An answer of the OpenID Connect issuer was refused');
    return new Problem('oidc_answer_invalid');
  }

  async function redeemCode(metadata: Discovered, { code, codeVerifier }: Proof) {
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: codeVerifier,
    });
    const response = await ask(metadata.token_endpoint, {
      method: 'POST',
      ...authenticate(metadata.token_endpoint_auth_methods_supported, settings, form),
    });
    const body: unknown = await response.json().catch(() => undefined);
    if (response.ok) {
      const tokens = TokenAnswer.safeParse(body);
      if (!tokens.success) throw invalid('there is no ID token');
      return tokens.data;
    }
    const { error } = (body ?? {}) as { error?: unknown };
    if (response.status === 400 && error !== 'invalid_client') throw invalid('the code was refused');
    throw unavailable(new Error(`The token endpoint answered ${response.status}`));
  }

  async function verifyIdToken(metadata: Discovered, idToken: string, nonce: string): Promise<JWTPayload> {
    const { payload } = await jwtVerify(idToken, metadata.keys, {
      issuer: settings.issuer,
      audience: settings.clientId,
      algorithms,
      requiredClaims: ['sub', 'iat', 'exp', 'nonce'],
      clockTolerance: 60,
      currentDate: new Date(now()),
    }).catch((error: unknown) => {
      // Anything else than a refusal is that the keys could not be fetched.
      const isRefusal = error instanceof errors.JOSEError && !keysUnavailable.has(error.code);
      throw isRefusal ? invalid(`${error.code}: ${error.message}`) : unavailable(error);
    });
    if (payload.nonce !== nonce) throw invalid('the nonce is another');
    const { azp } = payload;
    const isShared = Array.isArray(payload.aud) && payload.aud.length > 1;
    if ((isShared || azp !== undefined) && azp !== settings.clientId) throw invalid('it was issued to another client');
    return payload;
  }

  /** The ID token need not have the e-mail address; the userinfo endpoint then does. */
  async function completeClaims(metadata: Discovered, claims: JWTPayload, accessToken: string | undefined) {
    const { userinfo_endpoint } = metadata;
    if (claims.email !== undefined || !userinfo_endpoint || !accessToken) return claims;
    const response = await ask(userinfo_endpoint, { headers: { Authorization: `Bearer ${accessToken}` } });
    if (!response.ok) throw unavailable(new Error(`The userinfo endpoint answered ${response.status}`));
    const more = (await response.json().catch(() => ({}))) as Record<string, unknown>;
    if (more.sub !== claims.sub) throw invalid('the userinfo is about somebody else');
    return { ...more, ...claims };
  }

  return {
    async authorizationUrl({ state, nonce, codeVerifier }) {
      const url = new URL((await requireMetadata()).authorization_endpoint);
      for (const [name, value] of Object.entries({
        response_type: 'code',
        client_id: settings.clientId,
        redirect_uri: redirectUri,
        scope: settings.scopes.join(' '),
        state,
        nonce,
        code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
        code_challenge_method: 'S256',
      })) {
        url.searchParams.set(name, value);
      }
      return url.href;
    },
    async redeem(proof) {
      const metadata = await requireMetadata();
      const isNamed = proof.iss !== undefined || metadata.authorization_response_iss_parameter_supported;
      if (isNamed && proof.iss !== settings.issuer) throw invalid('it comes from another issuer');
      const { id_token, access_token } = await redeemCode(metadata, proof);
      const idToken = await verifyIdToken(metadata, id_token, proof.nonce);
      const person = Person.safeParse(await completeClaims(metadata, idToken, access_token));
      if (!person.success) throw invalid('it names nobody');
      const { sub, email, email_verified, name } = person.data;
      return { sub, email, emailVerified: email_verified === true, name };
    },
  };
}

const keysUnavailable = new Set([errors.JWKSTimeout.code, errors.JWKSInvalid.code, errors.JOSEError.code]);

async function fetchMetadata(issuer: string): Promise<Discovered> {
  const response = await ask(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  if (!response.ok) throw new Error(`Discovery answered ${response.status}`);
  const metadata = Metadata.parse(await response.json());
  if (metadata.issuer !== issuer) {
    throw new Error(`The issuer calls itself ${metadata.issuer}, and OIDC_ISSUER must be exactly that`);
  }
  const keys = createRemoteJWKSet(new URL(metadata.jwks_uri), { timeoutDuration: answerMilliseconds });
  return { ...metadata, keys };
}

/** @throws Problem oidc_unavailable */
async function ask(url: string, request: RequestInit = {}): Promise<Response> {
  // A redirect would lead the client secret elsewhere.
  const guards: RequestInit = { redirect: 'error', signal: AbortSignal.timeout(answerMilliseconds) };
  return fetch(url, { ...request, ...guards }).catch((cause: unknown) => {
    throw unavailable(cause);
  });
}

function unavailable(cause: unknown): Problem {
  if (cause instanceof Problem) return cause;
  return new Problem('oidc_unavailable', undefined, { cause, headers: { 'Retry-After': retryAfterSeconds } });
}

/** RFC 6749 §2.3.1: in the header, each part encoded as in a form; in the body only where the issuer takes no header. */
function authenticate(methods: readonly string[], { clientId, clientSecret }: OidcSettings, form: URLSearchParams) {
  if (!methods.includes('client_secret_basic') && methods.includes('client_secret_post')) {
    form.set('client_id', clientId);
    form.set('client_secret', clientSecret);
    return { body: form };
  }
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  const credentials = Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64');
  return { body: form, headers: { Authorization: `Basic ${credentials}` } };
}

function isPrivateOnTheWay(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}
