import type { CreatedApiKey, Input } from '@cadiz/contract';
import { CompiledQuery, type Transaction } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { selectAliveKey } from '../../access/alive-key.ts';
import { apiKeyTokens } from '../../access/api-key-token.ts';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { requireFolder } from '../../access/require-folder.ts';
import { requireLastingSession } from '../../access/require-lasting-session.ts';
import { requireProvenEmail } from '../../access/require-proven-email.ts';
import { toExpiry } from '../../access/to-expiry.ts';
import { hashToken } from '../../access/token.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { holdMaker } from './hold-maker.ts';
import { selectManageableKeys } from './manageable-keys.ts';

/**
 * Creates a new key with the old key's name, project, folder, scopes and, unless the request says otherwise, expiry.
 * Both work during the overlap, so that a program can switch without an interruption; then the old one expires.
 *
 * It requires whatever creating such a key requires, and the new key belongs to the caller: it can do what the caller
 * can. Only an owner of the project can rotate somebody else's key, since its maker loses a key.
 */
export async function rotateApiKey(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'accessChanges' | 'mail' | 'now'>,
  caller: SessionCaller,
  { id, overlapSeconds, expiresAt }: Input<'rotateApiKey'>,
): Promise<z.output<typeof CreatedApiKey>> {
  const now = new Date(deps.now());
  const asked = expiresAt === undefined ? undefined : toExpiry(expiresAt, now.getTime());
  await requireProvenEmail(deps, caller);
  const found = await selectManageableKeys(deps.db.kysely, caller).selectAll().where('id', '=', id).executeTakeFirst();
  if (!found) throw new Problem('api_key_not_found');
  const right = found.created_by === caller.userId ? 'keys:manage' : 'project:manage';
  if (found.project_id !== null) {
    const project = await openProject(deps, caller, found.project_id, right);
    await requireFolder(deps, project, found.folder_id);
  }
  const key = apiKeyTokens.mint();
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
  // The caches have the old key with its old expiry.
  await deps.accessChanges.publish({ kind: 'apiKey', id });
  return { id: created.id, name: created.name, key, projectId: created.project_id, createdAt: now.toISOString() };
}

/**
 * With this lock, a simultaneous revocation either wins or waits, and is never overtaken.
 * @throws Problem api_key_dead
 */
async function lockAliveKey(trx: Transaction<Schema>, id: string, now: Date): Promise<{ expires_at: Date | null }> {
  const { rows } = await trx.executeQuery<{ expires_at: Date | null }>(
    CompiledQuery.raw(`${selectAliveKey} and api_keys.id = $1 for update of api_keys`, [id, now]),
  );
  if (!rows[0]) throw new Problem('api_key_dead');
  return rows[0];
}
