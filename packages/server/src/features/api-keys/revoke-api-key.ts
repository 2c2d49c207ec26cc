import type { ApiKey } from '@cadiz/contract';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { Deps, SessionCaller } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { toApiKeyView } from './api-key-view.ts';
import { selectManageableKeys } from './manageable-keys.ts';

/**
 * Revokes a key: dead everywhere at once, or within the ten seconds of a cache that NOTIFY does not reach. The row
 * stays, so that people can see what there was. Doing it again answers the same.
 * @throws Problem api_key_not_found
 */
export async function revokeApiKey(deps: Deps, caller: SessionCaller, id: string): Promise<z.output<typeof ApiKey>> {
  const row = await deps.db.kysely
    .updateTable('api_keys')
    .set({ revoked_at: sql<Date>`coalesce(revoked_at, ${new Date(deps.now())})` })
    .where('id', '=', id)
    .where('id', 'in', selectManageableKeys(deps.db.kysely, caller).select('id'))
    .returningAll()
    .executeTakeFirst();
  if (!row) throw new Problem('api_key_not_found');
  await deps.accessChanges.publish({ kind: 'apiKey', id: row.id });
  return toApiKeyView(row);
}
