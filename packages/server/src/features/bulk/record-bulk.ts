import type { EventData } from '@cadiz/contract';
import type { Transaction } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import { type Actor, emit, recordEvent } from '../../events/record-event.ts';
import type { Change } from './apply-change.ts';

/** What a change of many files and folders has done. */
interface BulkChange {
  projectId: string;
  by: Actor;
  action: Change['action'];
  /** Where a move has led; null for the root. */
  targetId: string | null;
  data: EventData['bulk.deleted'];
}

/**
 * Records a change of many files and folders with one event. The audit log has deletions and restorations, but no moves.
 * @param at Unix milliseconds
 */
export async function recordBulk(
  trx: Transaction<Schema>,
  at: number,
  { action, targetId, data, ...event }: BulkChange,
): Promise<void> {
  if (action === 'move') {
    await emit(trx, at, { type: 'bulk.moved', ...event, data: { ...data, folderId: targetId } });
    return;
  }
  const { files, folders, bytes } = data;
  const type = action === 'delete' ? 'bulk.deleted' : 'bulk.restored';
  await recordEvent(trx, at, { type, ...event, subject: { files, folders, bytes }, data });
}
