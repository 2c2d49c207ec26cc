import type { AuthenticatorTransport } from '@simplewebauthn/server';

/** COSE algorithms: EdDSA, ES256 and RS256, which all authenticators and every Node support. */
export const algorithms = [-8, -7, -257];

/** How an authenticator is reached, from its row: separated by commas. Browsers ignore values that they do not know. */
export function toTransports(stored: string | null): AuthenticatorTransport[] {
  return (stored ?? '').split(',').filter((transport) => transport !== '') as AuthenticatorTransport[];
}
