import type { CreatedApiKey, Input } from '@cadiz/contract';
import { CompiledQuery, type Transaction } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { selectAliveKey } from '../../access/alive-key.ts';
import { hashToken, mintToken } from '../../access/api-key-token.ts';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { requireFolder } from '../../access/require-folder.ts';
import { requireLastingSession } from '../../access/require-lasting-session.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { toExpiry } from './create-api-key.ts';
import { holdMaker } from './hold-maker.ts';
import { selectManageableKeys } from './manageable-keys.ts';

/**
 * A new key with the name, the project, the folder, the scopes and, unless told otherwise, the expiry of the old one. Both work for
 * the overlap, so that a program can be given the new key without an interruption; then the old one expires.
 *
 * It asks what making such a key asks, and the new key is the caller's: it can do what they can. The key of somebody else is rotated by
 * an owner of the project alone, since its maker loses a key by it.
 * @throws Problem api_key_not_found, api_key_dead, project_not_found, role_missing, folder_not_found, too_many_api_keys,
 *   invalid_request (an expiry that is over)
 */
export async function rotateApiKey(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'accessChanges' | 'now'>,
  caller: SessionCaller,
  { id, overlapSeconds, expiresAt }: Input<'rotateApiKey'>,
): Promise<z.output<typeof CreatedApiKey>> {
  const now = new Date(deps.now());
  const asked = expiresAt === undefined ? undefined : toExpiry(expiresAt, now.getTime());
  const found = await selectManageableKeys(deps.db.kysely, caller).selectAll().where('id', '=', id).executeTakeFirst();
  if (!found) throw new Problem('api_key_not_found');
  const right = found.created_by === caller.userId ? 'keys:manage' : 'project:manage';
  if (found.project_id !== null) {
    const project = await openProject(deps, caller, found.project_id, right);
    await requireFolder(deps, project, found.folder_id);
  }
  const key = mintToken();
  const created = await deps.db.transaction(async (trx) => {
    const tied = { projectId: found.project_id, folderId: found.folder_id };
    await holdMaker(deps, trx, caller, tied, right);
    await requireLastingSession(trx, caller);
    const old = await lockAliveKey(trx, id, now);
    const overlapEnds = new Date(now.getTime() + overlapSeconds * 1000);
    await trx
      .updateTable('api_keys')
      .set({ expires_at: old.expires_at && old.expires_at < overlapEnds ? old.expires_at : overlapEnds })
      .where('id', '=', id)
      .execute();
    const row = {
      id: uuidv7(),
      hash: Buffer.from(hashToken(key), 'hex'),
      name: found.name,
      project_id: found.project_id,
      folder_id: found.folder_id,
      created_by: caller.userId,
      last4: key.slice(-4),
      scopes: found.scopes,
      created_at: now,
      expires_at: asked === undefined ? old.expires_at : asked,
    };
    await trx.insertInto('api_keys').values(row).execute();
    const subject = { apiKeyId: id, newApiKeyId: row.id, name: row.name, overlapSeconds };
    await recordEvent(trx, now.getTime(), { type: 'api_key.rotated', projectId: row.project_id, by: caller, subject });
    return row;
  });
  // The old key is remembered with its old expiry.
  await deps.accessChanges.publish({ kind: 'apiKey', id });
  return { id: created.id, name: created.name, key, projectId: created.project_id, createdAt: now.toISOString() };
}

/**
 * The lock lets a revocation that comes at the same moment win or wait, but never be overtaken.
 * @throws Problem api_key_dead
 */
async function lockAliveKey(trx: Transaction<Schema>, id: string, now: Date): Promise<{ expires_at: Date | null }> {
  const { rows } = await trx.executeQuery<{ expires_at: Date | null }>(
    CompiledQuery.raw(`${selectAliveKey} and api_keys.id = $1 for update of api_keys`, [id, now]),
  );
  if (!rows[0]) throw new Problem('api_key_dead');
  return rows[0];
}
