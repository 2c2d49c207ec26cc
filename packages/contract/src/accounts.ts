import { z } from 'zod';
import { label, timestampOut, uuid, uuidOut } from './fields.ts';

const password = z
  .string()
  // Counted as a person would, however the keyboard composes them: a password is hashed in this form (NFKC).
  .refine((text) => [...text.normalize('NFKC')].length >= 12, { error: 'must be at least 12 characters' })
  .max(1024, { error: 'must be at most 1024 characters' })
  .refine((text) => text.isWellFormed() && !text.includes('\0'), { error: 'must be well-formed Unicode without NUL' })
  .meta({ format: 'password', minLength: 12 });

export const email = z
  .email({ error: 'must be an e-mail address' })
  .max(254, { error: 'must be at most 254 characters' })
  .meta({ examples: ['ada@example.com'] });

export const SignUpRequest = z.object({ name: label, email, password });
export const SignInRequest = z.object({
  email,
  // The rules for new passwords do not apply to sign-in: a wrong password is a wrong password.
  password: z.string().max(1024, { error: 'must be at most 1024 characters' }),
});

export const User = z.object({
  id: uuidOut,
  name: z.string(),
  email: z.string(),
  emailVerified: z.boolean(),
  image: z.string().nullable().optional(),
  role: z.enum(['owner', 'member']),
  twoFactorEnabled: z.boolean().nullable().optional(),
  createdAt: timestampOut,
  updatedAt: timestampOut,
});

export const SignedIn = z.object({ user: User });
export const SignedOut = z.object({ success: z.boolean() });
export const CurrentSession = z
  .object({ session: z.object({ id: uuidOut, userId: uuidOut, expiresAt: timestampOut }), user: User })
  .nullable();

export const SignInMethods = z.object({
  passkeys: z.boolean().meta({ description: 'Whether passkeys can be added and used.' }),
  secondFactor: z.boolean().meta({ description: 'Whether an account can get a second factor.' }),
  oidc: z.object({ name: z.string() }).nullable().meta({ description: 'The OpenID Connect issuer, if there is one.' }),
  signUp: z.boolean().meta({ description: 'Whether anybody may create an account.' }),
  setup: z
    .object({ tokenRequired: z.boolean().meta({ description: 'Whether this browser needs the setup token for it.' }) })
    .nullable()
    .meta({ description: 'Not null while there is no account: the first one becomes the owner of the service.' }),
});

export const ChangePasswordRequest = z.object({
  currentPassword: SignInRequest.shape.password,
  newPassword: password,
  /** Whether to revoke the API keys of the account as well, not only end its other sessions. */
  revokeApiKeys: z.boolean({ error: 'must be true or false' }).default(false),
});
export const ChangedPassword = z.object({ endedSessions: z.int(), revokedApiKeys: z.int() });
export const PasswordReset = ChangedPassword.extend({
  removedPasskeys: z.int(),
  removedSecondFactor: z.boolean().meta({
    description: 'Whether a second factor was removed because it was set up before the e-mail address was verified.',
  }),
});

export const PasswordResetRequest = z.object({ email });
/** The same for every address, whether or not it has an account. */
export const PasswordResetRequested = z.object({ success: z.literal(true) });
export const ResetPasswordRequest = z.object({
  token: z.string().regex(/^[\w-]{43}$/, { error: 'must be the 43-character token from the message' }),
  newPassword: password,
  revokeApiKeys: z
    .boolean({ error: 'must be true or false' })
    .default(true)
    .meta({ description: 'Set to false to keep the API keys if the password was merely forgotten.' }),
});

/** `sent` is false when the address is already verified. */
export const EmailVerificationSent = z.object({ sent: z.boolean() });
export const VerifyEmailRequest = z.object({
  token: z.string().regex(/^[\w-]{43}$/, { error: 'must be the 43-character token from the message' }),
});
export const VerifiedEmail = z.object({ email: z.string(), emailVerified: z.literal(true) });

export const SessionView = z.object({
  id: uuidOut,
  createdAt: timestampOut,
  expiresAt: timestampOut,
  ipAddress: z.string().nullable(),
  userAgent: z.string().nullable(),
  /** Whether this is the session that sent the request. */
  current: z.boolean(),
});
export const SessionList = z.object({ sessions: z.array(SessionView) });
export const SessionParams = z.object({ sessionId: uuid });
export const EndedSession = z.object({ id: uuidOut, ended: z.literal(true) });
export const EndedSessions = z.object({ endedSessions: z.int() });

export const UserAccount = z.object({
  id: uuidOut,
  name: z.string(),
  email: z.string(),
  emailVerified: z.boolean(),
  role: z.enum(['owner', 'member']),
  createdAt: timestampOut,
  disabledAt: timestampOut.nullable(),
});
export const UsersQuery = z.object({
  cursor: uuid.optional().meta({ description: 'The `nextCursor` of the previous page.' }),
});
export const UserPage = z.object({ users: z.array(UserAccount), nextCursor: z.string().nullable() });
export const UserParams = z.object({ userId: uuid });
export const ChangeUserRequest = z.object({ disabled: z.boolean({ error: 'must be true or false' }) });
export const RemovedUser = z.object({ userId: uuidOut, removed: z.literal(true) });
