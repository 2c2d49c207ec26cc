import type { ProjectList } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { toProjectView } from './project-view.ts';

/** The projects that the caller is a member of, the oldest first. */
export async function listProjects(
  { db }: Pick<Deps, 'db'>,
  caller: SessionCaller,
): Promise<z.output<typeof ProjectList>> {
  const rows = await db.kysely
    .selectFrom('projects')
    .innerJoin('project_members', 'project_members.project_id', 'projects.id')
    .where('project_members.user_id', '=', caller.userId)
    .selectAll('projects')
    .orderBy('projects.id')
    .execute();
  return { projects: rows.map(toProjectView) };
}
