import type { Input, Trashed } from '@cadiz/contract';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { Caller, Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { recordEvent } from '../audit/record-event.ts';
import { toRestorableUntil, toTrashStamp } from '../trash/retention.ts';
import { whereInSight } from './in-sight.ts';
import { openFile } from './open-file.ts';

/** Puts a file into the trash; its object stays until it goes from there. @throws Problem scope_missing, file_not_found */
export async function removeFile(
  deps: Deps,
  caller: Caller,
  { id: fileId }: Input<'deleteFile'>,
): Promise<z.output<typeof Trashed>> {
  const { project, file } = await openFile(deps, caller, fileId, 'files:delete');
  const stamp = toTrashStamp(deps, caller, null);
  const trashedAt = await deps.db.transaction(async (trx) => {
    const row = await trx
      .updateTable('files')
      .set({
        ...stamp,
        trash_id: fileId,
        // As toTrashStamp does where the moment of the emptying is at hand.
        trashed_at: sql<Date>`greatest(${stamp.trashed_at}::timestamptz,
        (select trash_emptied_at + interval '1 millisecond' from projects where id = ${project.id}))`,
      })
      .where('project_id', '=', project.id)
      .where('id', '=', fileId)
      .where(whereInSight)
      .returning('trashed_at')
      .executeTakeFirst();
    if (!row?.trashed_at) throw new Problem('file_not_found');
    const subject = { fileId, fileName: file.file_name, bytes: file.file_size };
    await recordEvent(trx, deps.now(), { type: 'file.deleted', projectId: project.id, by: caller, subject });
    return row.trashed_at;
  });
  return { id: fileId, deleted: true, restorableUntil: toRestorableUntil(deps, trashedAt) };
}
