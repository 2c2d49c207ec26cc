import type { Input, InvitationList } from '@cadiz/contract';
import type { z } from 'zod';
import { whereAcceptable } from '../../access/acceptable-invitation.ts';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';

/** The invitations that can still be accepted, the oldest first. */
export async function listInvitations(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: SessionCaller,
  { projectId }: Input<'listInvitations'>,
): Promise<z.output<typeof InvitationList>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  const rows = await deps.db.kysely
    .selectFrom('invitations')
    .select(['id', 'email', 'role', 'created_at', 'expires_at'])
    .where('project_id', '=', project.id)
    .where(whereAcceptable(deps.now()))
    .orderBy('id')
    .execute();
  return {
    invitations: rows.map(({ id, email, role, created_at, expires_at }) => ({
      id,
      email,
      role,
      createdAt: created_at.toISOString(),
      expiresAt: expires_at.toISOString(),
    })),
  };
}
