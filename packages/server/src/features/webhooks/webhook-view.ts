import type { Answer } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { Schema } from '../../db/schema.ts';

export type WebhookRow = Selectable<Schema['webhook_endpoints']>;

/** An endpoint as its owners see it, without its secrets. */
export function toWebhookView(row: WebhookRow, now: number): Answer<'getWebhook'> {
  const { old_secret_until: oldUntil } = row;
  return {
    id: row.id,
    projectId: row.project_id,
    url: row.url,
    description: row.description,
    types: row.types,
    ordered: row.ordered,
    enabled: row.enabled,
    disabledReason: row.disabled_reason,
    disabledAt: row.disabled_at?.toISOString() ?? null,
    failingSince: row.first_failure_at?.toISOString() ?? null,
    oldSecretUntil: oldUntil && oldUntil.getTime() > now ? oldUntil.toISOString() : null,
    createdAt: row.created_at.toISOString(),
    createdBy: row.created_by === null ? null : { userId: row.created_by },
  };
}
