import { z } from 'zod';
import { label, timestampOut, uuid, uuidOut } from './fields.ts';

const base64url = (max: number) =>
  z
    .string()
    .min(1, { error: 'must not be empty' })
    .max(max, { error: `must be at most ${max} characters` })
    .regex(/^[\w-]+$/, { error: 'must be base64url' });

const credential = {
  id: base64url(1400).meta({ description: 'The id of the credential, in base64url.' }),
  rawId: base64url(1400),
  type: z.literal('public-key', { error: 'must be public-key' }),
  authenticatorAttachment: z.enum(['platform', 'cross-platform']).nullish(),
  clientExtensionResults: z.record(z.string(), z.unknown()).default({}),
};

/** The options for `navigator.credentials`, as JSON of WebAuthn Level 3; browsers parse it themselves. */
export const PasskeyOptions = z.looseObject({ challenge: z.string() });

export const RegisterPasskeyRequest = z.object({
  name: label.optional(),
  response: z.object({
    ...credential,
    response: z.object({
      clientDataJSON: base64url(8000),
      attestationObject: base64url(40_000),
      transports: z
        .array(z.string().regex(/^[a-z-]{1,32}$/, { error: 'must be a transport' }))
        .max(16)
        .optional(),
    }),
  }),
});

export const SignInWithPasskeyRequest = z.object({
  response: z.object({
    ...credential,
    response: z.object({
      clientDataJSON: base64url(8000),
      authenticatorData: base64url(8000),
      signature: base64url(8000),
      userHandle: base64url(200).optional(),
    }),
  }),
});

export const Passkey = z.object({
  id: uuidOut,
  name: z.string().nullable(),
  createdAt: timestampOut,
  /** Whether it is synced to other devices. */
  backedUp: z.boolean(),
});
export const PasskeyList = z.object({ passkeys: z.array(Passkey) });
export const RenamePasskeyRequest = z.object({ id: uuid, name: label });
export const DeletePasskeyRequest = z.object({ id: uuid });
export const DeletedPasskey = z.object({ id: uuidOut, deleted: z.literal(true) });
