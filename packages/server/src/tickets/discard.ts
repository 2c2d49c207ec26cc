import type { Deps } from '../deps.ts';
import { dropReservations, giveBack, type Reservation, selectStoreKeys } from './reservations.ts';
import { lookMarginMilliseconds, urlEndOf } from './reserve.ts';

/**
 * Removes what was uploaded under a reservation and cannot be recorded. Its URL may take other bytes until it has expired:
 * as long as that, the reservation stays counted, and `lookAtReservations` removes what has come by then and gives it back.
 * Before the object is removed, the reservation says that nobody can record it any more, and it is forgotten only
 * afterwards: so no recording, by whomever, can end up without its object.
 * @throws Problem store_unavailable
 */
export async function refuseUploaded(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'now'>,
  reservation: Reservation,
): Promise<void> {
  const lookAt = urlEndOf(deps, reservation) + lookMarginMilliseconds;
  if (reservation.upload_id !== null || deps.now() > lookAt) {
    await discardAll(deps, [reservation]);
    return;
  }
  await markRefused(deps, reservation, new Date(lookAt));
  // What the store will not remove now is removed then.
  await deps.objects.remove(await findUnrecorded(deps.db, [reservation], 'refused'));
}

async function markRefused({ db }: Pick<Deps, 'db'>, reservation: Reservation, lookAt: Date): Promise<void> {
  await db.kysely
    .updateTable('ticket_reservations')
    .set({ state: 'refused', look_at: lookAt })
    .where('project_id', '=', reservation.project_id)
    .where('store_key', '=', reservation.store_key)
    .where('state', '=', 'reserved')
    .execute();
}

/**
 * Removes what was uploaded under reservations of one ticket that are over, and gives them back.
 * @returns how many objects the store would not remove; their reservations stay, to be looked at again
 */
export async function discardAll(
  { db, objects, now }: Pick<Deps, 'db' | 'objects' | 'now'>,
  reservations: readonly Reservation[],
): Promise<number> {
  await giveBack(db.kysely, reservations, 'discarded', new Date(now() + againMilliseconds));
  const discarded = await findUnrecorded(db, reservations, 'discarded');
  const failed = new Set((await objects.remove(discarded)).map(({ storeKey }) => storeKey));
  const gone = reservations.filter(({ store_key }) => discarded.includes(store_key) && !failed.has(store_key));
  await dropReservations(db.kysely, gone);
  return failed.size;
}

/** When objects are tried again that could not be removed. */
const againMilliseconds = 10 * 60_000;

/** Without those that were recorded in the meantime. */
async function findUnrecorded(
  { kysely }: Deps['db'],
  reservations: readonly Reservation[],
  state: 'refused' | 'discarded',
): Promise<string[]> {
  const [first] = reservations;
  if (!first) return [];
  const rows = await selectStoreKeys(kysely, first.project_id, reservations)
    .where('state', '=', state)
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
