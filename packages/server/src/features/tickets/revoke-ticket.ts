import type { Answer, Input } from '@cadiz/contract';
import type { Caller } from '../../access/caller.ts';
import { isWithin } from '../../access/is-within.ts';
import { openProjectOf, requireScope } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { toTicketView } from './ticket-view.ts';

/**
 * Revokes a ticket: it is dead everywhere at once, or within the ten seconds of a cache that NOTIFY does not reach.
 * Revoking it again gives the same answer.
 */
export async function revokeTicket(
  deps: Pick<Deps, 'db' | 'access' | 'accessChanges' | 'now'>,
  caller: Caller,
  { id }: Input<'revokeTicket'>,
): Promise<Answer<'revokeTicket'>> {
  requireScope(caller, 'files:write');
  const found = await deps.db.kysely.selectFrom('tickets').selectAll().where('id', '=', id).executeTakeFirst();
  if (!found) throw new Problem('ticket_not_found');
  const project = await openProjectOf(deps, caller, found.project_id, 'files:write', 'ticket_not_found', (reached) =>
    isWithin(deps, reached, found.folder_id),
  );
  const row = await deps.db.transaction(async (trx) => {
    const ticket = await trx
      .selectFrom('tickets')
      .selectAll()
      .where('project_id', '=', project.id)
      .where('id', '=', id)
      .forUpdate()
      .executeTakeFirst();
    if (!ticket) throw new Problem('ticket_not_found');
    if (ticket.revoked_at) return ticket;
    const at = deps.now();
    const subject = { ticketId: id };
    await recordEvent(trx, at, { type: 'ticket.revoked', projectId: project.id, by: caller, subject });
    return trx
      .updateTable('tickets')
      .set({ revoked_at: new Date(at) })
      .where('project_id', '=', project.id)
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
  });
  await deps.accessChanges.publish({ kind: 'ticket', id });
  return toTicketView(row);
}
