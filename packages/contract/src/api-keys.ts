import { z } from 'zod';
import { label, timestamp, timestampOut, uuid, uuidOut } from './fields.ts';

export const scopes = ['files:read', 'files:write', 'files:delete'] as const;
export type Scope = (typeof scopes)[number];

const expiresAt = timestamp.nullable().optional();

export const CreateApiKeyRequest = z
  .object({
    name: label,
    projectId: uuid.nullable(),
    folderId: uuid
      .nullable()
      .optional()
      .meta({ description: 'A folder of that project; the key cannot see anything outside it.' }),
    scopes: z
      .array(z.enum(scopes, { error: `must be one of ${scopes.join(', ')}` }))
      .min(1, { error: 'must name at least one scope' })
      .transform((list) => [...new Set(list)])
      .optional(),
    expiresAt,
  })
  .refine(({ projectId, folderId }) => projectId !== null || !folderId, {
    path: ['folderId'],
    error: 'must be a folder of the project that projectId names',
  });

/** How long the old key keeps working: a day by default, a week at most. */
const overlapSeconds = z
  .int({ error: 'must be a whole number of seconds' })
  .min(0, { error: 'must not be negative' })
  .max(604_800, { error: 'must be at most 604800 (a week)' });

export const RotateApiKeyRequest = z.object({ overlapSeconds: overlapSeconds.default(86_400), expiresAt });

/** The only answer that ever contains the raw key. */
export const CreatedApiKey = z.object({
  id: uuidOut,
  name: z.string(),
  key: z.string().regex(/^cz_live_[0-9A-Za-z]{49}$/),
  projectId: uuidOut.nullable(),
  createdAt: timestampOut,
});

export const ApiKey = z.object({
  id: uuidOut,
  name: z.string(),
  projectId: uuidOut.nullable(),
  folderId: uuidOut.nullable().meta({ description: 'The folder of the project that the key is tied to.' }),
  scopes: z.array(z.enum(scopes)),
  last4: z.string().length(4),
  keyHash: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  createdBy: z.object({ userId: uuidOut }),
  createdAt: timestampOut,
  expiresAt: timestampOut.nullable(),
  lastUsedAt: timestampOut.nullable(),
  revokedAt: timestampOut.nullable(),
});
/** What a key can find out about itself. */
export const OwnApiKey = ApiKey.pick({
  id: true,
  name: true,
  projectId: true,
  folderId: true,
  scopes: true,
  expiresAt: true,
});
export const ApiKeyList = z.object({ apiKeys: z.array(ApiKey) });
export const ApiKeyParams = z.object({ id: uuid });
export const ListApiKeysQuery = z.object({ projectId: uuid.optional() });
