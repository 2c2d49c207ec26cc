import type { Link } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';

export type LinkView = z.output<typeof Link>;

type Row = Selectable<Schema['links']>;

/** @param file its name, and whether it is in sight */
export function toLinkView(
  { config, linkTokens, now }: Pick<Deps, 'config' | 'linkTokens' | 'now'>,
  row: Row,
  file: { name: string; isInSight: boolean },
): LinkView {
  const isExpired = row.expires_at !== null && row.expires_at.getTime() <= now();
  return {
    id: row.id,
    projectId: row.project_id,
    fileId: row.file_id,
    fileName: file.name,
    url: `${config.publicUrl}/l/${linkTokens.sign(row.id)}/${encodeURIComponent(file.name)}`,
    disposition: row.disposition,
    image: row.image,
    state: isExpired ? 'expired' : file.isInSight ? 'active' : 'hidden',
    expiresAt: row.expires_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    createdBy: {
      ...(row.created_by_user !== null && { userId: row.created_by_user }),
      ...(row.created_by_key !== null && { apiKeyId: row.created_by_key }),
    },
  };
}
