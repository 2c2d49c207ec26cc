import { algorithm } from './canonical-request.ts';
import { readAmzDate, readCredential } from './claim.ts';
import { maxExpiresInSeconds } from './presign.ts';
import { type Refused, refuse } from './refusal.ts';
import { signingKey } from './signing-key.ts';
import { checkScope, equals, toleranceMs, type VerifyOptions } from './verify.ts';

/** The signature of a form ("Browser-Based Uploads Using POST"), with each field as it was sent. */
export interface SignedPolicy {
  /** the policy document in base64 */
  policy: string;
  /** x-amz-algorithm */
  algorithm: string;
  /** x-amz-credential */
  credential: string;
  /** x-amz-date */
  amzDate: string;
  /** x-amz-signature */
  signature: string;
  /** Date, or milliseconds since 1970 */
  now: Date | number;
}

/**
 * Verifies that the holder of a key signed a policy, or says why not ("Calculating a Signature" for POST). The caller must
 * enforce what the policy says, including its expiration; here, its signature must be at most 7 days old, like that of a
 * presigned URL.
 */
export function verifyPolicy(
  signed: SignedPolicy,
  options: VerifyOptions,
): { ok: true; accessKeyId: string } | Refused {
  const malformed = (message: string) => refuse(400, 'InvalidArgument', message);
  if (signed.algorithm !== algorithm) return malformed(`x-amz-algorithm must be ${algorithm}.`);
  const credential = readCredential(signed.credential);
  if (!credential) return malformed('x-amz-credential must be <key id>/<YYYYMMDD>/<region>/s3/aws4_request.');
  const signedAt = readAmzDate(signed.amzDate);
  if (signedAt === undefined) return malformed('x-amz-date must be a time in the form 20130524T000000Z.');
  const { scope, accessKeyId } = credential;
  const refused =
    checkScope({ scope, amzDate: signed.amzDate }, 'InvalidArgument', options.region) ??
    checkAge(signedAt, Number(signed.now));
  if (refused) return refused;
  const secretAccessKey = options.findSecretAccessKey(accessKeyId);
  if (secretAccessKey === undefined) {
    return refuse(403, 'InvalidAccessKeyId', 'The access key id is not known here. Check the credentials.');
  }
  // A policy that is not base64 cannot have been signed in this form; the signer accepts only ASCII.
  const isText = /^[A-Za-z0-9+/=\s]*$/.test(signed.policy);
  const expected = signingKey(secretAccessKey, scope.date, scope.region)(isText ? signed.policy : '');
  if (isText && equals(signed.signature, expected)) return { ok: true, accessKeyId };
  return refuse(
    403,
    'SignatureDoesNotMatch',
    'The signature does not match the policy. Send the form as it was signed.',
  );
}

function checkAge(signedAt: number, now: number): Refused | undefined {
  if (signedAt - now > toleranceMs) {
    return refuse(
      403,
      'AccessDenied',
      'The form is dated more than 15 minutes ahead. Correct the clock of its signer.',
    );
  }
  if (now - signedAt <= maxExpiresInSeconds * 1000) return undefined;
  return refuse(403, 'AccessDenied', 'The form was signed more than 7 days ago. Request a new one.');
}
