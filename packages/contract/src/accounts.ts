import { z } from 'zod';
import { label, timestampOut, uuidOut } from './fields.ts';

const password = z
  .string()
  .min(12, { error: 'must be at least 12 characters' })
  .max(1024, { error: 'must be at most 1024 characters' })
  .refine((text) => text.isWellFormed() && !text.includes('\0'), { error: 'must be well-formed Unicode without NUL' })
  .meta({ format: 'password' });

export const email = z
  .email({ error: 'must be an e-mail address' })
  .max(254, { error: 'must be at most 254 characters' })
  .meta({ examples: ['ada@example.com'] });

export const SignUpRequest = z.object({ name: label, email, password });
export const SignInRequest = z.object({
  email,
  // The rules for new passwords are no business of sign-in: a wrong password is a wrong password.
  password: z.string().max(1024, { error: 'must be at most 1024 characters' }),
});

export const User = z.object({
  id: uuidOut,
  name: z.string(),
  email: z.string(),
  emailVerified: z.boolean(),
  image: z.string().nullable().optional(),
  role: z.enum(['owner', 'member']),
  createdAt: timestampOut,
  updatedAt: timestampOut,
});

export const SignedIn = z.object({ user: User });
export const SignedOut = z.object({ success: z.boolean() });
export const CurrentSession = z
  .object({ session: z.object({ id: uuidOut, userId: uuidOut, expiresAt: timestampOut }), user: User })
  .nullable();

export const SignInMethods = z.object({
  oidc: z
    .object({ name: z.string() })
    .nullable()
    .meta({ description: 'The OpenID Connect issuer, where there is one.' }),
});
