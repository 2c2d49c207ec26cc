import { SignInRequest, SignUpRequest } from '@cadiz/contract';
import type { AccountAnswer } from '../../features/accounts/accounts.ts';
import { requireSameSite } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody } from '../input.ts';

export const signUp: Handler = async (deps, c) => {
  requireSameSite(deps, c);
  return withCookies(await deps.accounts.signUp(c.req.raw.headers, await readBody(c, SignUpRequest)));
};

export const signIn: Handler = async (deps, c) => {
  requireSameSite(deps, c);
  return withCookies(await deps.accounts.signIn(c.req.raw.headers, await readBody(c, SignInRequest)));
};

export const signOut: Handler = async (deps, c) => {
  requireSameSite(deps, c);
  return withCookies(await deps.accounts.signOut(c.req.raw.headers));
};

export const getSession: Handler = async (deps, c) => withCookies(await deps.accounts.getSession(c.req.raw.headers));

function withCookies({ body, cookies }: AccountAnswer): Response {
  const headers = new Headers({ 'Content-Type': 'application/json' });
  for (const cookie of cookies) headers.append('Set-Cookie', cookie);
  return new Response(JSON.stringify(body), { headers });
}
