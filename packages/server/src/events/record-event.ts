import { type EventData, type EventType, type FeedType, feedTypes } from '@cadiz/contract';
import { type Kysely, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { ApiKeyCaller, SessionCaller, TicketCaller } from '../access/caller.ts';
import type { Schema } from '../db/schema.ts';

/** Who did something: a caller, or nobody signed in, as in a failed sign-in or a job of the service. */
export type Actor =
  | Pick<SessionCaller, 'kind' | 'userId' | 'address' | 'requestId'>
  | Pick<ApiKeyCaller, 'kind' | 'keyId' | 'address' | 'requestId'>
  | Pick<TicketCaller, 'kind' | 'ticketId' | 'address' | 'requestId'>
  | { kind: 'nobody'; address?: string | undefined; requestId?: string | undefined };

/** What the service does by itself. */
export const theService: Actor = { kind: 'nobody' };

/** An event for the feed of a project and its webhooks. */
export interface FeedEvent<T extends FeedType = FeedType> {
  type: T;
  projectId: string;
  by: Actor;
  data: EventData[T];
}

/** An event for the audit log, and for the feed if it is about a project. */
export interface NewEvent<T extends EventType = EventType> {
  type: T;
  /** Null if the event concerns an account or a key tied to no project. */
  projectId: string | null;
  by: Actor;
  /** Ids, names and counts; never a secret. */
  subject: Record<string, unknown>;
  /** What the feed says, if that is more than the subject. */
  data?: T extends FeedType ? EventData[T] : never;
}

let written = 0;

/** Counts up, so that ids follow the order of events even within a millisecond. */
export const newEventId = (at: number): string => uuidv7({ msecs: at, seq: written++ % 2 ** 32 });

/**
 * Writes an event into the audit log and the outbox, in the transaction of the change that it describes: neither exists
 * without the other. Call it once the change holds its locks, since that decides the order of events.
 * @param at Unix milliseconds
 */
export async function recordEvent<T extends EventType>(
  trx: Kysely<Schema>,
  at: number,
  event: NewEvent<T>,
): Promise<void> {
  const { type, projectId, by, subject, data = subject } = event;
  const id = newEventId(at);
  const { ticket_id: _, ...actor } = toActorColumns(by);
  await trx
    .insertInto('audit_events')
    .values({
      project_id: projectId,
      id,
      type,
      at: new Date(at),
      ...actor,
      ip: by.address ?? null,
      request_id: by.requestId ?? null,
      subject: JSON.stringify(subject),
    })
    .execute();
  if (projectId !== null && isFeedType(type)) await insert(trx, [{ id, type, at, projectId, by, data }]);
}

/**
 * Writes events into the outbox only, in their order.
 * @param at Unix milliseconds
 */
export function emit<T extends FeedType>(
  trx: Kysely<Schema>,
  at: number,
  ...events: readonly FeedEvent<T>[]
): Promise<void> {
  return insert(
    trx,
    events.map((event) => ({ ...event, id: newEventId(at), at })),
  );
}

/** A row of the outbox, for `insertEventsSql`. */
export function toOutgoing<T extends FeedType>(at: number, event: FeedEvent<T>): OutgoingRow {
  return toRow({ ...event, id: newEventId(at), at });
}

export type OutgoingRow = ReturnType<typeof toRow>;

function toRow({ id, type, at, projectId, by, data }: Outgoing) {
  return { project_id: projectId, id, type, at: new Date(at).toISOString(), ...toActorColumns(by), data };
}

interface Outgoing {
  id: string;
  type: FeedType;
  at: number;
  projectId: string;
  by: Actor;
  data: unknown;
}

async function insert(trx: Kysely<Schema>, events: readonly Outgoing[]): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map(toRow);
  await sql`
    insert into new_events (${sql.raw(columns.join(', '))})
    select ${sql.raw(columns.join(', '))} from rows from (
      json_to_recordset(${JSON.stringify(rows)}::json) as (${sql.raw(recordColumns)})
    ) with ordinality as event (${sql.raw([...columns, 'n'].join(', '))})
    order by n`.execute(trx);
}

const columnTypes = {
  project_id: 'uuid',
  id: 'uuid',
  type: 'text',
  at: 'timestamptz',
  user_id: 'uuid',
  api_key_id: 'uuid',
  ticket_id: 'uuid',
  data: 'json',
};
const columns = Object.keys(columnTypes);
const recordColumns = Object.entries(columnTypes)
  .map(([name, type]) => `${name} ${type}`)
  .join(', ');

/**
 * SQL that adds the events of rows that the same statement inserts, for a hot path.
 * @param from has the JSON array of events in `events`, as `toOutgoing` makes them, in the order of `orderBy`
 */
export function insertEventsSql({ from, events, orderBy }: { from: string; events: string; orderBy: string }): string {
  return `insert into new_events (${columns.join(', ')})
    select ${columns.map((name) => `event.${name}`).join(', ')} from ${from}
    cross join lateral rows from (json_to_recordset(${events}) as (${recordColumns}))
      with ordinality as event (${[...columns, 'n'].join(', ')})
    order by ${orderBy}, n`;
}

function toActorColumns(by: Actor) {
  return {
    user_id: by.kind === 'session' ? by.userId : null,
    api_key_id: by.kind === 'apiKey' ? by.keyId : null,
    ticket_id: by.kind === 'ticket' ? by.ticketId : null,
  };
}

const inFeed: ReadonlySet<string> = new Set(feedTypes);

function isFeedType(type: string): type is FeedType {
  return inFeed.has(type);
}
