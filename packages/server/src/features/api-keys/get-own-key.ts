import type { Answer } from '@cadiz/contract';
import type { Caller } from '../../access/caller.ts';
import { invalidApiKey } from '../../access/invalid-api-key.ts';
import type { Deps } from '../../deps.ts';

/** What the key of the caller is, for programs that were given one. */
export async function getOwnKey({ db }: Pick<Deps, 'db'>, caller: Caller): Promise<Answer<'getOwnKey'>> {
  if (caller.kind !== 'apiKey') throw invalidApiKey('This route describes an API key: send one.');
  const row = await db.kysely.selectFrom('api_keys').selectAll().where('id', '=', caller.keyId).executeTakeFirst();
  if (!row) throw invalidApiKey();
  const { id, name, project_id: projectId, folder_id: folderId, scopes, expires_at } = row;
  return { id, name, projectId, folderId, scopes, expiresAt: expires_at?.toISOString() ?? null };
}
