import type { AccountAnswer } from '../features/accounts/auth.ts';

/** An answer about accounts: JSON, and the cookies that go with it. */
export function withCookies({ body, cookies }: AccountAnswer): Response {
  const headers = new Headers({ 'Content-Type': 'application/json' });
  for (const cookie of cookies) headers.append('Set-Cookie', cookie);
  return new Response(JSON.stringify(body), { headers });
}
