import type { Input, MemberList } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';

/** All members of a project, by name. */
export async function listMembers(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: SessionCaller,
  { projectId }: Input<'listMembers'>,
): Promise<z.output<typeof MemberList>> {
  const project = await openProject(deps, caller, projectId, 'files:read');
  const members = await deps.db.kysely
    .selectFrom('project_members')
    .innerJoin('users', 'users.id', 'project_members.user_id')
    .select(['users.id as userId', 'users.name', 'users.email', 'project_members.role'])
    .where('project_id', '=', project.id)
    .orderBy('users.name')
    .orderBy('users.id')
    .execute();
  return { members };
}
