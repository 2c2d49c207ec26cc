import { passkey } from '@better-auth/passkey';
import { APIError } from 'better-auth/api';

/** Better Auth's passkeys: found by the browser without a name, and used only with the user's finger, face or PIN. */
export function toPasskeyPlugin(publicUrl: string) {
  const { origin, hostname } = new URL(publicUrl);
  return passkey({
    origin,
    rpID: hostname,
    rpName: 'Cadiz',
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    advanced: { webAuthnChallengeCookie: 'passkey' },
    registration: {
      afterVerification: async ({ verification }) =>
        requireVerifiedUser(verification.registrationInfo?.userVerified, 'FAILED_TO_VERIFY_REGISTRATION'),
    },
    authentication: {
      afterVerification: async ({ verification }) =>
        requireVerifiedUser(verification.authenticationInfo.userVerified, 'AUTHENTICATION_FAILED'),
    },
    schema: {
      passkey: {
        modelName: 'passkeys',
        fields: {
          userId: 'user_id',
          publicKey: 'public_key',
          credentialID: 'credential_id',
          deviceType: 'device_type',
          backedUp: 'backed_up',
          createdAt: 'created_at',
        },
      },
    },
  });
}

/** Better Auth itself would take who only touched the authenticator. */
function requireVerifiedUser(isVerified: boolean | undefined, code: string): void {
  if (!isVerified) throw new APIError('UNAUTHORIZED', { code, message: 'The user was not verified' });
}
