import type { ApiKey } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Schema } from '../../db/schema.ts';

/**
 * The public facts about a key, without the key itself. Its hash lets a person tell whether a leaked key is this one.
 */
export function toApiKeyView(row: Selectable<Schema['api_keys']>): z.output<typeof ApiKey> {
  return {
    id: row.id,
    name: row.name,
    projectId: row.project_id,
    folderId: row.folder_id,
    scopes: row.scopes,
    last4: row.last4,
    keyHash: `sha256:${row.hash.toString('hex')}`,
    createdBy: { userId: row.created_by },
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at?.toISOString() ?? null,
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
    revokedAt: row.revoked_at?.toISOString() ?? null,
  };
}
