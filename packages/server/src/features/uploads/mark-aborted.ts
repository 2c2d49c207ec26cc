import type { Kysely } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import type { UploadRow } from './open-upload.ts';

/**
 * Marks an upload as aborted, unless it is over already: from now on nothing can record it.
 * @param now milliseconds since 1970
 * @returns whether this call ended it
 */
export async function markAborted(
  db: Kysely<Schema>,
  now: number,
  { project_id, id }: Pick<UploadRow, 'project_id' | 'id'>,
): Promise<boolean> {
  const at = new Date(now);
  const { numUpdatedRows } = await db
    .updateTable('uploads')
    .set({ aborted_at: at, expires_at: at })
    .where('project_id', '=', project_id)
    .where('id', '=', id)
    .where('aborted_at', 'is', null)
    .where('completed_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
