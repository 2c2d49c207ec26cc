import type { Deps } from '../deps.ts';
import { dropReservations, giveBack, type Reservation } from './reservations.ts';

/**
 * Removes what was uploaded under a reservation, and gives the reservation back. Before the object is removed, the
 * reservation says that nobody can record it any more, and it is forgotten only afterwards: so no recording, by whomever,
 * can end up without its object. If this is interrupted, `lookAtReservations` goes on.
 * @throws Problem store_unavailable
 */
export async function discardUploaded(
  deps: Pick<Deps, 'db' | 'objects' | 'now'>,
  reservation: Reservation,
): Promise<void> {
  await discardAll(deps, [reservation]);
}

/**
 * The same for several of one ticket.
 * @returns how many objects the store would not remove; their reservations stay, to be looked at again
 */
export async function discardAll(
  { db, objects, now }: Pick<Deps, 'db' | 'objects' | 'now'>,
  reservations: readonly Reservation[],
): Promise<number> {
  await giveBack(db.kysely, reservations, 'discarded', new Date(now() + againMilliseconds));
  const discarded = await findDiscarded(db, reservations);
  const failed = new Set((await objects.remove(discarded)).map(({ storeKey }) => storeKey));
  const gone = reservations.filter(({ store_key }) => discarded.includes(store_key) && !failed.has(store_key));
  await dropReservations(db.kysely, gone);
  return failed.size;
}

/** When objects are tried again that could not be removed. */
const againMilliseconds = 10 * 60_000;

/** Without those that were recorded in the meantime. */
async function findDiscarded({ kysely }: Deps['db'], reservations: readonly Reservation[]): Promise<string[]> {
  const [first] = reservations;
  if (!first) return [];
  const rows = await kysely
    .selectFrom('ticket_reservations')
    .select('store_key')
    .where('project_id', '=', first.project_id)
    .where(
      'store_key',
      'in',
      reservations.map(({ store_key }) => store_key),
    )
    .where('state', '=', 'discarded')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('files')
            .select('id')
            .whereRef('files.project_id', '=', 'ticket_reservations.project_id')
            .whereRef('files.store_key', '=', 'ticket_reservations.store_key'),
        ),
      ),
    )
    .execute();
  return rows.map(({ store_key }) => store_key);
}
