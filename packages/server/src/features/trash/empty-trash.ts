import type { Counts, EmptyTrashQuery } from '@cadiz/contract';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { countContents } from '../../tree/count-contents.ts';
import { changeTree } from '../../tree/lock-tree.ts';
import { toTrashStart } from '../../tree/retention.ts';

/**
 * Empties the trash of a project: its present entries can no longer be restored, and `purgeTrash` removes them. One row
 * changes, however many there are. Returns how many there were.
 */
export async function emptyTrash(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'now'>,
  caller: Caller,
  { projectId }: z.output<typeof EmptyTrashQuery>,
): Promise<z.output<typeof Counts>> {
  const project = await openProject(deps, caller, projectId, 'files:delete');
  // One timestamp for the whole project decides what has left the trash.
  if (project.within !== null) throw new Problem('scope_missing', 'A key tied to a folder cannot empty the trash.');
  return changeTree(deps, project, async (trx, { trashEmptiedAt }) => {
    const start = toTrashStart(deps, trashEmptiedAt);
    const folders = sql`
      select id from folders where project_id = ${project.id} and trash_id is not null and trashed_at > ${start}`;
    const files = sql<boolean>`trash_id = id and trashed_at > ${start}`;
    const counts = await countContents(trx, project, folders, files);
    // Includes anything deleted on a replica whose clock runs ahead.
    await sql`
      update projects set trash_emptied_at = greatest(${new Date(deps.now())}::timestamptz,
        (select max(trashed_at) from folders where project_id = ${project.id} and trash_id = id),
        (select max(trashed_at) from files where project_id = ${project.id} and trash_id = id))
      where id = ${project.id}`.execute(trx);
    const event = { projectId: project.id, by: caller, subject: counts };
    await recordEvent(trx, deps.now(), { type: 'trash.emptied', ...event });
    return counts;
  });
}
