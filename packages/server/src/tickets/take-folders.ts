import type { Transaction } from 'kysely';
import type { TicketCaller } from '../access/caller.ts';
import { invalidTicket } from '../access/invalid-ticket.ts';
import type { Schema } from '../db/schema.ts';
import { Problem } from '../problem.ts';
import { findLeft } from './reserve.ts';

/**
 * Counts folders that a ticket is about to make, in the transaction that makes them: as many as it can have files.
 * @throws Problem ticket_exhausted, invalid_ticket
 */
export async function takeFolders(
  trx: Transaction<Schema>,
  caller: TicketCaller,
  count: number,
  at: Date,
): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable('tickets')
    .set((set) => ({ used_folders: set('used_folders', '+', count) }))
    .where('project_id', '=', caller.projectId)
    .where('id', '=', caller.ticketId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', at)
    .where((ticket) => ticket(ticket('used_folders', '+', count), '<=', ticket.ref('max_files')))
    .executeTakeFirst();
  if (numUpdatedRows === 1n) return;
  const left = await findLeft(trx, at.getTime(), caller);
  if (!left) throw invalidTicket();
  throw new Problem('ticket_exhausted', `This makes ${count} folders; the ticket has ${left.folders} left.`);
}
