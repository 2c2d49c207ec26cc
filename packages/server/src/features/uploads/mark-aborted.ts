import type { Deps } from '../../deps.ts';
import type { UploadRow } from './open-upload.ts';

/**
 * Ends an upload for good, unless it is over already: from now on nothing records it. Its row is due from now on, so that
 * `abandonUploads` finds it.
 * @returns whether this call ended it
 */
export async function markAborted(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { project_id, id }: Pick<UploadRow, 'project_id' | 'id'>,
): Promise<boolean> {
  const at = new Date(now());
  const { numUpdatedRows } = await db.kysely
    .updateTable('uploads')
    .set({ aborted_at: at, expires_at: at })
    .where('project_id', '=', project_id)
    .where('id', '=', id)
    .where('aborted_at', 'is', null)
    .where('completed_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
