import { createHash, randomBytes } from 'node:crypto';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

/** The person at the browser, as the issuer knows them. */
export interface IssuersPerson {
  sub: string;
  email?: string;
  email_verified?: boolean | string;
  name?: string;
}

/** An OpenID Connect issuer on loopback that signs everyone in at once, and misbehaves on request. */
export interface TestIssuer {
  url: string;
  clientId: string;
  clientSecret: string;
  person: IssuersPerson;
  /** Replaces claims of the ID tokens. */
  alter: (claims: JWTPayload) => Record<string, unknown>;
  /** Signs the ID tokens instead of the issuer's own key. */
  signWith: { alg: string; key: CryptoKey | Uint8Array } | undefined;
  /** Replaces entries of the discovery document. */
  metadata: Record<string, unknown>;
  /** Whether the e-mail address is in the ID token, or only in the userinfo. */
  emailIn: 'id_token' | 'userinfo';
  /** The error code that refuses the next sign-in. */
  refusal: string | undefined;
  /** Paths that give another answer, or none. */
  broken: Record<string, (response: ServerResponse) => void>;
  /** Signs with a new key from now on, the only one that it publishes. */
  rotate(): Promise<void>;
  /** The requested paths. */
  asked: string[];
  /** The issued tokens. */
  tokens: string[];
  stop(): Promise<void>;
  /** Listens on the same port again. */
  restart(): Promise<void>;
}

interface Grant {
  challenge: string;
  redirectUri: string;
  nonce: string | null;
  person: IssuersPerson;
}

export async function startTestIssuer(): Promise<TestIssuer> {
  let own = await generateKeyPair('ES256');
  let kid = 'one';
  const grants = new Map<string, Grant>();
  const people = new Map<string, IssuersPerson>();
  let server: http.Server;

  const issuer: TestIssuer = {
    url: '',
    clientId: 'cadiz',
    clientSecret: 'a secret: with / and +',
    person: { sub: 'ada', email: 'ada@example.com', email_verified: true, name: 'Ada' },
    alter: (claims) => claims,
    signWith: undefined,
    metadata: {},
    emailIn: 'id_token',
    refusal: undefined,
    broken: {},
    async rotate() {
      own = await generateKeyPair('ES256');
      kid = randomBytes(8).toString('hex');
    },
    asked: [],
    tokens: [],
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    restart: () => listen(Number(new URL(issuer.url).port)),
  };

  function listen(port: number): Promise<void> {
    server = http.createServer((request, response) => void answer(request, response));
    return new Promise((resolve) => {
      server.listen(port, '127.0.0.1', () => {
        issuer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
        resolve();
      });
    });
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', issuer.url);
    issuer.asked.push(pathname);
    const broken = issuer.broken[pathname];
    if (broken) broken(response);
    else if (pathname === '/.well-known/openid-configuration') json(response, 200, discovery());
    else if (pathname === '/authorize') authorize(searchParams, response);
    else if (pathname === '/token') await token(request, response);
    else if (pathname === '/jwks') json(response, 200, { keys: [await toJwk()] });
    else if (pathname === '/userinfo') userinfo(request, response);
    else json(response, 404, {});
  }

  const toJwk = async () => ({ ...(await exportJWK(own.publicKey)), kid, alg: 'ES256', use: 'sig' });

  const discovery = () => ({
    issuer: issuer.url,
    authorization_endpoint: `${issuer.url}/authorize?tenant=1`,
    token_endpoint: `${issuer.url}/token`,
    jwks_uri: `${issuer.url}/jwks`,
    userinfo_endpoint: `${issuer.url}/userinfo`,
    id_token_signing_alg_values_supported: ['ES256'],
    authorization_response_iss_parameter_supported: true,
    ...issuer.metadata,
  });

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    const isRight =
      query.get('client_id') === issuer.clientId &&
      query.get('response_type') === 'code' &&
      query.get('scope')?.split(' ').includes('openid') &&
      query.get('code_challenge_method') === 'S256' &&
      query.get('tenant') === '1';
    const redirectUri = query.get('redirect_uri') ?? '';
    if (!isRight || new URL(redirectUri).pathname !== '/api/auth/callback/oidc') {
      json(response, 400, {});
      return;
    }
    const back = new URL(redirectUri);
    back.searchParams.set('state', query.get('state') ?? '');
    back.searchParams.set('iss', issuer.url);
    if (issuer.refusal) back.searchParams.set('error', issuer.refusal);
    else {
      const code = randomBytes(16).toString('hex');
      const challenge = query.get('code_challenge') ?? '';
      grants.set(code, { challenge, redirectUri, nonce: query.get('nonce'), person: issuer.person });
      back.searchParams.set('code', code);
    }
    response.writeHead(302, { Location: back.href }).end();
  }

  async function token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await read(request));
    const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
    const credentials = `${encode(issuer.clientId)}:${encode(issuer.clientSecret)}`;
    const inHeader = request.headers.authorization === `Basic ${Buffer.from(credentials).toString('base64')}`;
    const inBody =
      form.get('client_id') === issuer.clientId &&
      form.get('client_secret') === issuer.clientSecret &&
      request.headers.authorization === undefined;
    if (!inHeader && !inBody) return json(response, 401, { error: 'invalid_client' });
    const code = form.get('code') ?? '';
    const grant = grants.get(code);
    grants.delete(code);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (!grant || grant.challenge !== challenge || grant.redirectUri !== form.get('redirect_uri')) {
      return json(response, 400, { error: 'invalid_grant' });
    }
    const accessToken = randomBytes(16).toString('hex');
    people.set(accessToken, grant.person);
    const idToken = await sign(grant);
    issuer.tokens.push(accessToken, idToken);
    return json(response, 200, { token_type: 'Bearer', access_token: accessToken, id_token: idToken });
  }

  function sign({ person: { sub, ...more }, nonce }: Grant): Promise<string> {
    const seconds = Math.floor(Date.now() / 1000);
    const claims = issuer.alter({
      iss: issuer.url,
      aud: issuer.clientId,
      sub,
      iat: seconds,
      exp: seconds + 300,
      ...(nonce === null ? {} : { nonce }),
      ...(issuer.emailIn === 'id_token' ? more : {}),
    });
    const { alg, key } = issuer.signWith ?? { alg: 'ES256', key: own.privateKey };
    return new SignJWT(claims as JWTPayload).setProtectedHeader({ alg, kid }).sign(key);
  }

  function userinfo(request: IncomingMessage, response: ServerResponse): void {
    const person = people.get(request.headers.authorization?.replace('Bearer ', '') ?? '');
    json(response, person ? 200 : 401, person ?? {});
  }

  await listen(0);
  return issuer;
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
