import type { Kysely } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { toOpeningSlot } from './usage-slots.ts';

/**
 * Notes that files of a project went out of sight or came back on this day, so that its trash is looked up when the day
 * is over. Recording and purging note that by counting. Valid only under a lock of the project, such as `keepProject`.
 * @param at Unix milliseconds
 */
export async function openDay(trx: Kysely<Schema>, projectId: string, at: number): Promise<void> {
  await trx
    .insertInto('project_usage')
    .values({ project_id: projectId, slot: toOpeningSlot(at), file_count: 0, total_bytes: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
