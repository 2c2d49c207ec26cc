import type { CreatedApiKey, RotateApiKeyRequest } from '@cadiz/contract';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import type { Deps, SessionCaller } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { requireLastingSession } from '../accounts/require-lasting-session.ts';
import { recordEvent } from '../audit/record-event.ts';
import { toExpiry } from './create-api-key.ts';
import { selectManageableKeys } from './manageable-keys.ts';
import { hashToken, mintToken } from './token.ts';

/**
 * A new key with the name, the project, the folder, the scopes and, unless told otherwise, the expiry of the old one. Both work for
 * the overlap, so that a program can be given the new key without an interruption; then the old one expires.
 * @throws Problem api_key_not_found, api_key_dead, invalid_request (an expiry that is over)
 */
export async function rotateApiKey(
  deps: Deps,
  caller: SessionCaller,
  id: string,
  { overlapSeconds, expiresAt }: z.output<typeof RotateApiKeyRequest>,
): Promise<z.output<typeof CreatedApiKey>> {
  const now = new Date(deps.now());
  const asked = expiresAt === undefined ? undefined : toExpiry(expiresAt, now.getTime());
  const key = mintToken();
  const created = await deps.db.kysely.transaction().execute(async (trx) => {
    await requireLastingSession(trx, caller);
    // The lock lets a revocation that comes at the same moment win or wait, but never be overtaken.
    const old = await selectManageableKeys(trx, caller).selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
    if (!old) throw new Problem('api_key_not_found');
    if (old.revoked_at || (old.expires_at && old.expires_at <= now)) throw new Problem('api_key_dead');
    const overlapEnds = new Date(now.getTime() + overlapSeconds * 1000);
    await trx
      .updateTable('api_keys')
      .set({ expires_at: old.expires_at && old.expires_at < overlapEnds ? old.expires_at : overlapEnds })
      .where('id', '=', old.id)
      .execute();
    const row = {
      id: uuidv7(),
      hash: Buffer.from(hashToken(key), 'hex'),
      name: old.name,
      project_id: old.project_id,
      folder_id: old.folder_id,
      created_by: caller.userId,
      last4: key.slice(-4),
      scopes: old.scopes,
      created_at: now,
      expires_at: asked === undefined ? old.expires_at : asked,
    };
    await trx.insertInto('api_keys').values(row).execute();
    const subject = { apiKeyId: old.id, newApiKeyId: row.id, name: row.name, overlapSeconds };
    await recordEvent(trx, now.getTime(), { type: 'api_key.rotated', projectId: row.project_id, by: caller, subject });
    return row;
  });
  // The old key is remembered with its old expiry.
  await deps.accessChanges.publish({ kind: 'apiKey', id });
  return { id: created.id, name: created.name, key, projectId: created.project_id, createdAt: now.toISOString() };
}
