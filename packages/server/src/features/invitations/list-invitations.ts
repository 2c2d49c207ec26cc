import type { Input, InvitationList } from '@cadiz/contract';
import type { z } from 'zod';
import type { Deps, SessionCaller } from '../../deps.ts';
import { openProject } from '../projects/open-project.ts';
import { isAcceptable } from './acceptable.ts';

/** The invitations that can still be accepted, the oldest first. @throws Problem project_not_found, role_missing */
export async function listInvitations(
  deps: Deps,
  caller: SessionCaller,
  { projectId }: Input<'listInvitations'>,
): Promise<z.output<typeof InvitationList>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  const rows = await deps.db.kysely
    .selectFrom('invitations')
    .select(['id', 'email', 'role', 'created_at', 'expires_at'])
    .where('project_id', '=', project.id)
    .where(isAcceptable(deps.now()))
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
