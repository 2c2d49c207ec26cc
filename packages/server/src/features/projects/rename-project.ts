import type { Project, RenameProjectRequest } from '@cadiz/contract';
import type { z } from 'zod';
import type { Deps, SessionCaller } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { openProject } from './open-project.ts';
import { toProjectView } from './project-view.ts';

/** @throws Problem project_not_found */
export async function renameProject(
  deps: Deps,
  caller: SessionCaller,
  projectId: string,
  { name }: z.output<typeof RenameProjectRequest>,
): Promise<z.output<typeof Project>> {
  const project = await openProject(deps, caller, projectId, 'files:write');
  const row = await deps.db.kysely
    .updateTable('projects')
    .set({ name, updated_at: new Date(deps.now()) })
    .where('id', '=', project.id)
    .returningAll()
    .executeTakeFirst();
  if (!row) throw new Problem('project_not_found');
  return toProjectView(row);
}
