import { type MetadataEntries, metadataProblem } from '@cadiz/contract';
import { CompiledQuery, type Kysely, type Selectable, sql } from 'kysely';
import type { OpenProject } from '../access/open-project.ts';
import type { Schema } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';
import { isTicketStoreKey } from '../store/store-key.ts';

export type Reservation = Selectable<Schema['ticket_reservations']>;

/** A reservation with the metadata that its ticket gives to files. */
export interface FoundReservation extends Reservation {
  metadata: MetadataEntries | null;
}

/** A row of `ticket_reservations`, by its key. */
type Key = Pick<Reservation, 'project_id' | 'ticket_id' | 'store_key'>;

/**
 * The reservation of a store key; undefined if it has none, or no longer has one. Look before asking the store for the
 * object: the reservation outlives the removal of the object.
 */
export async function findReservation(
  { db }: Pick<Deps, 'db'>,
  project: OpenProject<'files:write'>,
  storeKey: string,
): Promise<FoundReservation | undefined> {
  // Other keys have none, so that recording them needs no query.
  if (!isTicketStoreKey(storeKey)) return undefined;
  const { rows } = await db.pool.query<FoundReservation>({
    name: 'find-reservation',
    text: `select found.project_id, store_key, ticket_id, bytes, state, look_at, ends_at, upload_id, facts, seen_at, metadata
           from ticket_reservations found join tickets on tickets.project_id = found.project_id and tickets.id = ticket_id
           where found.project_id = $1 and store_key = $2`,
    values: [project.id, storeKey],
  });
  return rows[0];
}

/**
 * Counts an upload again that was given up because nothing had arrived when its URL expired.
 * @throws Problem ticket_exhausted if the ticket has used it for another upload since
 */
export async function takeAgain({ db }: Pick<Deps, 'db'>, reservation: Reservation): Promise<void> {
  const { project_id, ticket_id, store_key, bytes } = reservation;
  await db
    .transaction(async (trx) => {
      const { numUpdatedRows } = await trx
        .updateTable('tickets')
        .set((set) => ({ used_files: set('used_files', '+', 1), used_bytes: set('used_bytes', '+', bytes) }))
        .where('project_id', '=', project_id)
        .where('id', '=', ticket_id)
        .where((ticket) => ticket('used_files', '<', ticket.ref('max_files')))
        .where((ticket) => ticket(ticket('used_bytes', '+', bytes), '<=', ticket.ref('max_bytes')))
        .executeTakeFirst();
      if (numUpdatedRows === 0n) {
        throw new Problem(
          'ticket_exhausted',
          'The upload arrived after its URL had expired, and the ticket has been used up since.',
        );
      }
      const taken = await trx
        .updateTable('ticket_reservations')
        .set({ state: 'reserved' })
        .where('project_id', '=', project_id)
        .where('store_key', '=', store_key)
        .where('state', '=', 'released')
        .executeTakeFirst();
      // Somebody else has taken it again in this moment, or it is over.
      if (taken.numUpdatedRows === 0n) throw new NotReleased();
    })
    .catch((error: unknown) => {
      if (!(error instanceof NotReleased)) throw error;
    });
}

/** The metadata that a ticket gives to the files that are uploaded with it. */
export async function findTicketMetadata(
  { db }: Pick<Deps, 'db'>,
  projectId: string,
  ticketId: string,
): Promise<MetadataEntries | null> {
  const found = await db.kysely
    .selectFrom('tickets')
    .select('metadata')
    .where('project_id', '=', projectId)
    .where('id', '=', ticketId)
    .executeTakeFirst();
  return found?.metadata ?? null;
}

/**
 * What a client says of a file, and what its ticket says, which no client can change.
 * @throws Problem invalid_request if that is more than a file can have
 */
export function withTicketMetadata(
  own: MetadataEntries | undefined,
  ofTicket: MetadataEntries | null | undefined,
): MetadataEntries | undefined {
  if (!own || !ofTicket) return ofTicket ?? own;
  const metadata = { ...own, ...ofTicket };
  const message = metadataProblem(metadata);
  if (message === undefined) return metadata;
  const issues = [{ path: 'metadata', message: `${message} with that of the ticket` }];
  throw new Problem('invalid_request', `metadata ${message} with that of the ticket.`, { issues });
}

/** Rolls a transaction back. */
class NotReleased extends Error {}

/**
 * Gives back what reservations of one ticket had reserved, in one statement: each is given back once, however many
 * processes try, and not at all once its file is recorded. Locks the ticket before its reservations.
 * @param lookAt when to look at them next
 */
export async function giveBack(
  kysely: Kysely<Schema>,
  keys: readonly Key[],
  state: 'released' | 'discarded',
  lookAt: Date,
): Promise<void> {
  const [first] = keys;
  if (!first) return;
  await kysely.executeQuery(
    CompiledQuery.raw(giveBackSql, [
      first.project_id,
      first.ticket_id,
      keys.map(({ store_key }) => store_key),
      state,
      lookAt,
    ]),
  );
}

const giveBackSql = `
  with ticket as materialized (
    select id from tickets where project_id = $1 and id = $2 for no key update
  ), changed as (
    update ticket_reservations set state = $4::text, look_at = $5
    from (select store_key, state from ticket_reservations
          where project_id = $1 and ticket_id = (select id from ticket) and store_key = any($3::text[])
            and (state = 'reserved' or $4::text = 'discarded')
          order by store_key for update) as before
    where ticket_reservations.project_id = $1 and ticket_reservations.store_key = before.store_key
    returning before.state, bytes
  ), given as (
    select count(*) as files, coalesce(sum(bytes), 0) as bytes from changed where state in ('reserved', 'refused')
  )
  update tickets set used_files = used_files - given.files, used_bytes = used_bytes - given.bytes
  from given where project_id = $1 and id = $2 and given.files > 0`;

/** Selects the store keys of those reservations of a project that are still there. */
export const selectStoreKeys = (kysely: Kysely<Schema>, projectId: string, keys: readonly Pick<Key, 'store_key'>[]) =>
  kysely
    .selectFrom('ticket_reservations')
    .select('store_key')
    .where('project_id', '=', projectId)
    .where(
      'store_key',
      'in',
      keys.map(({ store_key }) => store_key),
    );

/** Forgets reservations of one ticket that are over. Locks them in the order in which others do. */
export async function dropReservations(kysely: Kysely<Schema>, keys: readonly Key[]): Promise<void> {
  const [first] = keys;
  if (!first) return;
  await sql`
    delete from ticket_reservations
    using (select store_key from ticket_reservations
           where project_id = ${first.project_id} and ticket_id = ${first.ticket_id}
             and store_key = any(${keys.map(({ store_key }) => store_key)}::text[])
           order by store_key for update) as over
    where ticket_reservations.project_id = ${first.project_id} and ticket_reservations.store_key = over.store_key`.execute(
    kysely,
  );
}

/** Gives back what an upload in parts had reserved, in the transaction that aborts it. */
export async function giveBackUpload(
  trx: Kysely<Schema>,
  { project_id, ticket_id, store_key }: { project_id: string; ticket_id: string | null; store_key: string },
): Promise<void> {
  if (ticket_id === null) return;
  const key = { project_id, ticket_id, store_key };
  await giveBack(trx, [key], 'discarded', new Date());
  await dropReservations(trx, [key]);
}
