import { z } from 'zod';
import { SignedIn, SignInRequest } from './accounts.ts';

const currentPassword = SignInRequest.shape.password;
const totpCode = z.string().regex(/^\d{6}$/, { error: 'must be the six digits that the app shows' });
const backupCode = z
  .string()
  .regex(/^[0-9A-Za-z]{5}-[0-9A-Za-z]{5}$/, { error: 'must be a backup code, such as aB3dE-fG5hI' });

/** The answer of sign-in, without a session, for an account with a second factor. */
export const SecondFactorNeeded = z.object({
  twoFactorRedirect: z.literal(true),
  twoFactorMethods: z.array(z.literal('totp')),
});
export const SignInAnswer = z.union([SignedIn, SecondFactorNeeded]);

export const EnableSecondFactorRequest = z.object({ password: currentPassword });
export const SecondFactorSecrets = z.object({
  totpURI: z.string().meta({ description: 'otpauth://…, to show as a QR code. It is only ever shown in this answer.' }),
  backupCodes: z
    .array(z.string())
    .meta({ description: 'Each signs in once, without the app. They are only ever shown in this answer.' }),
});
export const TotpRequest = z.object({ code: totpCode });
export const BackupCodeRequest = z.object({ code: backupCode });
export const BackupCodes = SecondFactorSecrets.pick({ backupCodes: true });
/** Weakening a second factor requires the second factor. */
export const PasswordAndCode = z.object({
  password: currentPassword,
  code: z.union([totpCode, backupCode], { error: 'must be the six digits that the app shows, or a backup code' }),
});
export const SecondFactorDisabled = z.object({ success: z.literal(true) });
