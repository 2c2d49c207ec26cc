import type { Input, Project } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { toProjectView } from './project-view.ts';

/** One project, with its limits and settings. */
export async function getProject(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: SessionCaller,
  { projectId }: Input<'getProject'>,
): Promise<z.output<typeof Project>> {
  const project = await openProject(deps, caller, projectId, 'files:read');
  const row = await deps.db.kysely.selectFrom('projects').selectAll().where('id', '=', project.id).executeTakeFirst();
  if (!row) throw new Problem('project_not_found');
  return toProjectView(row);
}
