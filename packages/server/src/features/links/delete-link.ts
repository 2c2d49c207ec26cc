import type { DeletedLink, Input } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { isWithin } from '../../access/is-within.ts';
import { openProjectOf, type ReachedProject, requireScope } from '../../access/open-project.ts';
import { keepProject } from '../../db/keep-rows.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';

/**
 * Deletes a link, wherever its file is. It is dead at once for every process: no process remembers links (decision
 * 0062).
 */
export async function deleteLink(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: Caller,
  { id }: Input<'deleteLink'>,
): Promise<z.output<typeof DeletedLink>> {
  requireScope(caller, 'files:write');
  const link = await deps.db.kysely
    .selectFrom('links')
    .innerJoin('files', (join) =>
      join.onRef('files.project_id', '=', 'links.project_id').onRef('files.id', '=', 'links.file_id'),
    )
    .select(['links.project_id', 'links.file_id', 'files.folder_id', 'files.file_name'])
    .where('links.id', '=', id)
    .executeTakeFirst();
  if (!link) throw new Problem('link_not_found');
  const isThere = (project: ReachedProject) => isWithin(deps, project, link.folder_id);
  const project = await openProjectOf(deps, caller, link.project_id, 'files:write', 'link_not_found', isThere);
  await deps.db.transaction(async (trx) => {
    await keepProject(trx, project.id);
    const deleted = await trx
      .deleteFrom('links')
      .where('project_id', '=', project.id)
      .where('id', '=', id)
      .returning('file_id')
      .executeTakeFirst();
    if (!deleted) throw new Problem('link_not_found');
    const subject = { linkId: id, fileId: deleted.file_id, fileName: link.file_name };
    await recordEvent(trx, deps.now(), { type: 'link.deleted', projectId: project.id, by: caller, subject });
  });
  return { id, deleted: true };
}
