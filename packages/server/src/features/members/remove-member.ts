import type { Input, RemovedMember } from '@cadiz/contract';
import type { Transaction } from 'kysely';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { ticketGraceMilliseconds } from '../../access/find-ticket.ts';
import { lockMembers } from '../../access/lock-members.ts';
import { openProject } from '../../access/open-project.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';

/**
 * Removes a member from a project: owners can remove anybody, others only themselves. What they made stays, but the API
 * keys that they tied to the project are revoked for good, and so are their tickets: another invitation does not restore
 * them. Their untied keys reach the project again when they return.
 */
export async function removeMember(
  deps: Pick<Deps, 'db' | 'access' | 'accessChanges' | 'now'>,
  caller: SessionCaller,
  { projectId, userId }: Input<'removeMember'>,
): Promise<z.output<typeof RemovedMember>> {
  const isOwn = userId === caller.userId;
  const project = await openProject(deps, caller, projectId, isOwn ? 'files:read' : 'project:manage');
  await deps.db.transaction(async (trx) => {
    const members = await lockMembers(trx, project, caller, userId, isOwn ? 'member' : 'owner');
    members.requireOtherOwner(userId);
    await trx
      .deleteFrom('project_members')
      .where('project_id', '=', project.id)
      .where('user_id', '=', userId)
      .execute();
    const revokedKeys = await revokeKeys(trx, project.id, userId, new Date(deps.now()));
    await revokeTickets(trx, project.id, userId, new Date(deps.now()));
    const event = { projectId: project.id, by: caller, subject: { userId, revokedKeys } };
    await recordEvent(trx, deps.now(), { type: 'member.removed', ...event });
  });
  await deps.accessChanges.publish({ kind: 'project', id: project.id });
  return { userId, removed: true };
}

/** @returns how many were alive */
async function revokeKeys(trx: Transaction<Schema>, projectId: string, userId: string, at: Date): Promise<number> {
  // In the order of their ids, like everything that locks several keys.
  const keys = await trx
    .selectFrom('api_keys')
    .select('id')
    .where('project_id', '=', projectId)
    .where('created_by', '=', userId)
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .forUpdate()
    .execute();
  if (keys.length === 0) return 0;
  const ids = keys.map(({ id }) => id);
  await trx.updateTable('api_keys').set({ revoked_at: at }).where('id', 'in', ids).execute();
  return keys.length;
}

/** Those of their keys as well: a ticket acts for the account behind its maker. */
async function revokeTickets(trx: Transaction<Schema>, projectId: string, userId: string, at: Date): Promise<void> {
  const tickets = trx
    .selectFrom('tickets')
    .select('id')
    .where('project_id', '=', projectId)
    .where('created_by', '=', userId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', new Date(at.getTime() - ticketGraceMilliseconds))
    .orderBy('id')
    .forUpdate();
  await trx
    .updateTable('tickets')
    .set({ revoked_at: at })
    .where('project_id', '=', projectId)
    .where('id', 'in', tickets)
    .execute();
}
