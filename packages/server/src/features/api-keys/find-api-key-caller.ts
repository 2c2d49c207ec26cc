import type { ApiKeyCaller, Deps } from '../../deps.ts';

/** The caller that a key makes at this moment, by the key's id; undefined when it is revoked, expired or gone. */
export async function findApiKeyCaller({ db, now }: Deps, keyId: string): Promise<ApiKeyCaller | undefined> {
  const row = await db.kysely
    .selectFrom('api_keys')
    .select(['id', 'project_id', 'created_by', 'scopes'])
    .where('id', '=', keyId)
    .where('revoked_at', 'is', null)
    .where((is) => is.or([is('expires_at', 'is', null), is('expires_at', '>', new Date(now()))]))
    .executeTakeFirst();
  if (!row) return undefined;
  return {
    kind: 'apiKey',
    keyId: row.id,
    projectId: row.project_id,
    createdBy: row.created_by,
    scopes: row.scopes,
  };
}
