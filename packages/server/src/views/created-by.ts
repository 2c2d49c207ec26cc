import type { By } from '@cadiz/contract';
import type { z } from 'zod';
import type { Maker } from '../access/caller.ts';
import type { Field } from '../db/view.ts';

type ByView = z.output<typeof By>;

/**
 * Who made a row, or deleted it. A ticket is named in place of whoever made it.
 * @returns null if the row does not say, as rows of early versions do not
 */
export function toBy({ created_by_user, created_by_key }: Maker, ticketId: string | null = null): ByView | null {
  if (ticketId !== null) return { ticketId };
  if (created_by_key !== null) return { apiKeyId: created_by_key };
  return created_by_user === null ? null : { userId: created_by_user };
}

const toSql = (columns: Record<string, string>) =>
  `coalesce(${Object.entries(columns)
    .map(([name, column]) => `'{"${name}":"' || ${column} || '"}'`)
    .join(', ')}, 'null')`;

/** The field of a public shape, for a row of a table that knows no tickets. */
export const createdBy: Field<Maker, keyof Maker, ByView | null> = {
  column: 'created_by_user',
  sql: toSql({ apiKeyId: 'created_by_key', userId: 'created_by_user' }),
  isQuoted: false,
  read: (row) => toBy(row),
};

type TicketMaker = Maker & { ticket_id: string | null };

/** The same for a row that may have been made with a ticket. */
export const createdByOrTicket: Field<TicketMaker, keyof TicketMaker, ByView | null> = {
  column: 'ticket_id',
  sql: toSql({ ticketId: 'ticket_id', apiKeyId: 'created_by_key', userId: 'created_by_user' }),
  isQuoted: false,
  read: (row) => toBy(row, row.ticket_id),
};
