import type { Deps } from '../../deps.ts';
import { newEventId } from '../../events/record-event.ts';
import { ticketFactsJson } from '../../tickets/ticket-facts.ts';

const atOnce = 500;

/** Writes an event for each ticket whose time is over; none for those that were revoked before. */
export async function tellExpired({ db, now }: Pick<Deps, 'db' | 'now'>, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const at = now();
    const { rows } = await db.pool.query<{ told: number }>({
      text: `
        with due as materialized (
          select project_id, id from tickets where not expiry_told and expires_at <= $1
          order by expires_at limit ${atOnce} for update skip locked
        ), over as (
          update tickets set expiry_told = true from due
          where tickets.project_id = due.project_id and tickets.id = due.id
          returning tickets.*
        ), told as (
          insert into new_events (project_id, id, type, at, data)
          select project_id, ($2::uuid[])[row_number() over ()], 'ticket.expired', $1, ${ticketFactsJson}
          from over where revoked_at is null
        )
        select count(*) as told from over`,
      values: [new Date(at), Array.from({ length: atOnce }, () => newEventId(at))],
    });
    if ((rows[0]?.told ?? 0) < atOnce) return;
  }
}
