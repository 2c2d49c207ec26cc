import type { Transaction } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import { type Actor, emit } from '../../events/record-event.ts';
import { giveBackUpload } from '../../tickets/reservations.ts';
import type { UploadRow } from './open-upload.ts';

/**
 * Marks an upload as aborted, unless it is over already: from now on nothing can record it. What it had reserved of a
 * ticket is given back.
 * @param trx the transaction of both
 * @param now milliseconds since 1970
 * @returns whether this call ended it
 */
export async function markAborted(
  trx: Transaction<Schema>,
  now: number,
  by: Actor,
  upload: Pick<UploadRow, 'project_id' | 'id' | 'ticket_id' | 'store_key'>,
): Promise<boolean> {
  const at = new Date(now);
  const { numUpdatedRows } = await trx
    .updateTable('uploads')
    .set({ aborted_at: at, expires_at: at })
    .where('project_id', '=', upload.project_id)
    .where('id', '=', upload.id)
    .where('aborted_at', 'is', null)
    .where('completed_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await giveBackUpload(trx, upload);
  const { project_id: projectId, id, store_key: storeKey, ticket_id: ticketId } = upload;
  await emit(trx, now, { type: 'upload.aborted', projectId, by, data: { id, projectId, storeKey, ticketId } });
  return true;
}
