import { type CreateApiKeyRequest, type CreatedApiKey, scopes } from '@cadiz/contract';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { apiKeyTokens } from '../../access/api-key-token.ts';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { requireFolder } from '../../access/require-folder.ts';
import { requireLastingSession } from '../../access/require-lasting-session.ts';
import { requireProvenEmail } from '../../access/require-proven-email.ts';
import { toExpiry } from '../../access/to-expiry.ts';
import { hashToken } from '../../access/token.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { holdMaker } from './hold-maker.ts';

/** Creates an API key. The raw key appears in this answer and nowhere else: only its SHA-256 is kept. */
export async function createApiKey(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'mail' | 'now'>,
  caller: SessionCaller,
  request: z.output<typeof CreateApiKeyRequest>,
): Promise<z.output<typeof CreatedApiKey>> {
  const expiresAt = toExpiry(request.expiresAt, deps.now());
  await requireProvenEmail(deps, caller);
  const { projectId, folderId = null } = request;
  if (projectId !== null) {
    const project = await openProject(deps, caller, projectId, 'keys:manage');
    await requireFolder(deps, project, folderId);
  }
  const id = uuidv7();
  const key = apiKeyTokens.mint();
  const createdAt = new Date(deps.now());
  const row = {
    id,
    hash: Buffer.from(hashToken(key), 'hex'),
    name: request.name,
    project_id: projectId,
    folder_id: folderId,
    created_by: caller.userId,
    last4: key.slice(-4),
    scopes: request.scopes ?? [...scopes],
    created_at: createdAt,
    expires_at: expiresAt,
  };
  await deps.db.transaction(async (trx) => {
    await holdMaker(deps, trx, caller, { projectId, folderId }, 'keys:manage');
    await requireLastingSession(trx, caller);
    await trx.insertInto('api_keys').values(row).execute();
    const subject = {
      apiKeyId: id,
      name: row.name,
      folderId,
      scopes: row.scopes,
      expiresAt: expiresAt?.toISOString() ?? null,
    };
    await recordEvent(trx, createdAt.getTime(), {
      type: 'api_key.created',
      projectId: row.project_id,
      by: caller,
      subject,
    });
  });
  return { id, name: request.name, key, projectId, createdAt: createdAt.toISOString() };
}
