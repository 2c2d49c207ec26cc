import type { EventData } from '@cadiz/contract';
import { sql } from 'kysely';
import type { Deps } from '../../deps.ts';
import { emit, theService } from '../../events/record-event.ts';
import { ticketFactsJson } from '../../tickets/ticket-facts.ts';

const atOnce = 500;

interface Expired {
  projectId: string;
  isRevoked: boolean;
  facts: EventData['ticket.expired'];
}

/** Writes an event for each ticket whose time is over; none for those that were revoked before. */
export async function tellExpired({ db, now }: Pick<Deps, 'db' | 'now'>, signal: AbortSignal): Promise<void> {
  let told = atOnce;
  while (told === atOnce) {
    signal.throwIfAborted();
    const at = now();
    told = await db.transaction(async (trx) => {
      const { rows } = await sql<Expired>`
        with due as materialized (
          select project_id, id from tickets where not expiry_told and expires_at <= ${new Date(at)}
          order by expires_at limit ${atOnce} for update skip locked
        )
        update tickets set expiry_told = true where (project_id, id) in (select project_id, id from due)
        returning project_id as "projectId", revoked_at is not null as "isRevoked", ${sql.raw(ticketFactsJson)} as facts`.execute(
        trx,
      );
      const expired = rows.filter(({ isRevoked }) => !isRevoked);
      const event = { type: 'ticket.expired', by: theService } as const;
      await emit(trx, at, ...expired.map(({ projectId, facts: data }) => ({ ...event, projectId, data })));
      return rows.length;
    });
  }
}
