import type { Input, Trashed } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { keepProject } from '../../db/keep-rows.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { imageOfFile } from '../../images/image-view.ts';
import { openDay } from '../../limits/open-day.ts';
import { Problem } from '../../problem.ts';
import { whereInSight } from '../../tree/in-sight.ts';
import { openFile } from '../../tree/open-file.ts';
import { afterEmptying, toRestorableUntil, toTrashStamp } from '../../tree/retention.ts';
import { toFileView } from '../../views/file-view.ts';

/** Moves a file to the trash; its object stays until it is purged. */
export async function deleteFile(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'now'>,
  caller: Caller,
  { id: fileId }: Input<'deleteFile'>,
): Promise<z.output<typeof Trashed>> {
  const { project, file } = await openFile(deps, caller, fileId, 'files:delete');
  const stamp = toTrashStamp(deps, caller, null);
  const trashedAt = await deps.db.transactionOf(project.id, async (trx) => {
    if (!(await keepProject(trx, project.id))) throw new Problem('file_not_found');
    const row = await trx
      .updateTable('files')
      .set({
        ...stamp,
        trash_id: fileId,
        trashed_at: afterEmptying(project.id, stamp.trashed_at),
      })
      .where('project_id', '=', project.id)
      .where('id', '=', fileId)
      .where(whereInSight)
      .returningAll()
      .returning(imageOfFile.as('image'))
      .executeTakeFirst();
    if (!row?.trashed_at) throw new Problem('file_not_found');
    await openDay(trx, project.id, deps.now());
    const subject = { fileId, fileName: file.file_name, bytes: file.file_size };
    const event = { projectId: project.id, by: caller, subject, data: toFileView(row) };
    await recordEvent(trx, deps.now(), { type: 'file.deleted', ...event });
    return row.trashed_at;
  });
  return { id: fileId, deleted: true, restorableUntil: toRestorableUntil(deps, trashedAt) };
}
