import type { FeedType } from '@cadiz/contract';

/** An event as the feed reads it: its actor, and `data` as JSON text. */
export interface EventRow {
  project_id: string;
  seq: number;
  position: number;
  id: string;
  type: FeedType;
  at: Date;
  user_id: string | null;
  api_key_id: string | null;
  ticket_id: string | null;
  data: string;
}

/** The columns of an `EventRow`, in SQL. */
export const eventColumns =
  'project_id, seq, position, id, type, at, user_id, api_key_id, ticket_id, data::text as data';

/** The public shape of an event, as JSON text. */
export function toEventJson(row: Omit<EventRow, 'position'>): string {
  const envelope = {
    id: row.id,
    seq: row.seq,
    type: row.type,
    at: row.at.toISOString(),
    projectId: row.project_id,
    actor: toActor(row),
  };
  // `data` is JSON text already: it is put in where the object would end.
  return `${JSON.stringify(envelope).slice(0, -1)},"data":${row.data}}`;
}

function toActor({ user_id, api_key_id, ticket_id }: Omit<EventRow, 'position'>): object | null {
  if (ticket_id !== null) return { ticketId: ticket_id };
  if (api_key_id !== null) return { apiKeyId: api_key_id };
  return user_id === null ? null : { userId: user_id };
}
