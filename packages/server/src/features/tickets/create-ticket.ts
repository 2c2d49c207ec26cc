import type { Answer, Input } from '@cadiz/contract';
import type { Transaction } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { type Caller, userOf } from '../../access/caller.ts';
import { holdMember } from '../../access/hold-member.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import { requireFolder } from '../../access/require-folder.ts';
import { requireLastingSession } from '../../access/require-lasting-session.ts';
import { requireProvenEmail } from '../../access/require-proven-email.ts';
import { ticketTokens } from '../../access/ticket-token.ts';
import { hashToken } from '../../access/token.ts';
import { keepFolder, keepProject, keepUser } from '../../db/keep-rows.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { toTicketView } from './ticket-view.ts';

/**
 * Creates a ticket, which may do what the caller may, now and later. The raw ticket appears in this answer and nowhere
 * else: only its SHA-256 is kept.
 */
export async function createTicket(
  deps: Pick<Deps, 'db' | 'access' | 'mail' | 'now'>,
  caller: Caller,
  request: Input<'createTicket'>,
): Promise<Answer<'createTicket'>> {
  const { folderId, maxFiles, maxBytes } = request;
  const project = await openProject(deps, caller, request.projectId, 'files:write');
  await requireFolder(deps, project, folderId);
  if (caller.kind === 'session') await requireProvenEmail(deps, caller);
  const ticket = ticketTokens.mint();
  const createdAt = deps.now();
  const expiresAt = new Date(createdAt + request.expiresIn * 1000);
  const row = {
    project_id: project.id,
    id: uuidv7({ msecs: createdAt }),
    hash: Buffer.from(hashToken(ticket), 'hex'),
    folder_id: folderId,
    created_by: userOf(caller),
    created_by_key: caller.kind === 'apiKey' ? caller.keyId : null,
    max_files: maxFiles,
    max_bytes: maxBytes,
    max_file_size: request.maxFileSize ?? null,
    mime_types: request.mimeTypes ?? null,
    origins: request.origins ?? null,
    auto_record: request.autoRecord,
    metadata: request.metadata ? JSON.stringify(request.metadata) : null,
    created_at: new Date(createdAt),
    expires_at: expiresAt,
  };
  const created = await deps.db.transaction(async (trx) => {
    await holdMaker(trx, caller, project, folderId);
    const subject = { ticketId: row.id, folderId, maxFiles, maxBytes, expiresAt: expiresAt.toISOString() };
    await recordEvent(trx, createdAt, { type: 'ticket.created', projectId: project.id, by: caller, subject });
    return trx.insertInto('tickets').values(row).returningAll().executeTakeFirstOrThrow();
  });
  return { ...toTicketView(created), ticket };
}

/**
 * Locks what entitles the caller to the ticket until the transaction ends, in the order of locks: a ticket that was made
 * while its maker was being removed would revive with their next invitation. If a row is gone, the references of the
 * ticket fail.
 * @throws Problem project_not_found, role_missing, session_required
 */
async function holdMaker(
  trx: Transaction<Schema>,
  caller: Caller,
  project: OpenProject<'files:write'>,
  folderId: string | null,
): Promise<void> {
  await keepUser(trx, userOf(caller));
  await keepProject(trx, project.id);
  await holdMember(trx, userOf(caller), project.id, 'files:write');
  if (folderId !== null) await keepFolder(trx, project.id, folderId);
  if (caller.kind === 'session') await requireLastingSession(trx, caller);
}
