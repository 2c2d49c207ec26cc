import type { AuthenticatorTransport } from '@simplewebauthn/server';

/** Of COSE: EdDSA, ES256 and RS256, which all authenticators and every Node can do. */
export const algorithms = [-8, -7, -257];

/** How an authenticator is reached, as its row has it: separated by commas. Browsers ignore what they do not know. */
export function toTransports(stored: string | null): AuthenticatorTransport[] {
  return (stored ?? '').split(',').filter((transport) => transport !== '') as AuthenticatorTransport[];
}
