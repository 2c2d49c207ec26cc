import type { ApiKey, Input } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { toApiKeyView } from './api-key-view.ts';
import { selectManageableKeys } from './manageable-keys.ts';

/**
 * Revokes a key: it is dead everywhere at once, or within the ten seconds of a cache that NOTIFY does not reach. The
 * row stays as a record. Revoking it again gives the same answer.
 */
export async function revokeApiKey(
  deps: Pick<Deps, 'db' | 'accessChanges' | 'now'>,
  caller: SessionCaller,
  { id }: Input<'revokeApiKey'>,
): Promise<z.output<typeof ApiKey>> {
  const row = await deps.db.transaction(async (trx) => {
    const key = await selectManageableKeys(trx, caller).selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
    if (!key) throw new Problem('api_key_not_found');
    if (key.revoked_at) return key;
    const at = deps.now();
    const subject = { apiKeyId: id, name: key.name };
    await recordEvent(trx, at, { type: 'api_key.revoked', projectId: key.project_id, by: caller, subject });
    return trx
      .updateTable('api_keys')
      .set({ revoked_at: new Date(at) })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
  });
  await deps.accessChanges.publish({ kind: 'apiKey', id: row.id });
  return toApiKeyView(row);
}
