import type { Answer } from '@cadiz/contract';
import type { TicketCaller } from '../../access/caller.ts';
import { invalidTicket } from '../../access/invalid-ticket.ts';
import type { Deps } from '../../deps.ts';
import { toOwnTicketView } from './ticket-view.ts';

/** What the ticket of the caller is and has left, for the page that uploads with it. */
export async function getOwnTicket(
  { db }: Pick<Deps, 'db'>,
  { projectId, ticketId }: TicketCaller,
): Promise<Answer<'getOwnTicket'>> {
  const row = await db.kysely
    .selectFrom('tickets')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '=', ticketId)
    .executeTakeFirst();
  if (!row) throw invalidTicket();
  return toOwnTicketView(row);
}
