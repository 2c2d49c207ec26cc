import type { Quarantine } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Schema } from '../../db/schema.ts';

export type QuarantineRow = Selectable<Schema['quarantines']>;
export type QuarantineView = z.output<typeof Quarantine>;

/** A quarantine as the API shows it. */
export function toQuarantineView(row: QuarantineRow): QuarantineView {
  return {
    id: row.id,
    projectId: row.project_id,
    apiKeyId: row.api_key_id,
    since: row.since.toISOString(),
    state: row.state,
    files: row.file_count,
    bytes: row.total_bytes,
    createdAt: row.created_at.toISOString(),
    endedAt: row.ended_at?.toISOString() ?? null,
  };
}
