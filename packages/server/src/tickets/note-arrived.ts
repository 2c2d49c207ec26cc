import type { Deps } from '../deps.ts';
import { isTicketStoreKey } from '../store/store-key.ts';

/** How long the client of an upload that has arrived has to record it, before the service does. */
export const clientMilliseconds = 60_000;

/**
 * Notes that objects are said to have arrived, so that they are looked for once their clients have had the time to record
 * them. Only uploads of tickets that record by themselves are noted, and nothing is believed: the object store is asked.
 * @returns how many of them were
 */
export async function noteArrived(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  storeKeys: readonly string[],
): Promise<number> {
  const keys = [...new Set(storeKeys)].filter((key) => storeKeyShape.test(key) && isTicketStoreKey(key));
  if (keys.length === 0) return 0;
  const at = now();
  const { rowCount } = await db.pool.query({
    name: 'note-arrived',
    // In order: stores tell the same several times, to several processes at once.
    text: `with arrived as (
             select project_id, store_key
             from unnest($1::uuid[], $2::text[]) as said (project_id, store_key)
             join ticket_reservations using (project_id, store_key)
             where facts is not null and state not in ('refused', 'discarded') and seen_at is null
             order by store_key for no key update of ticket_reservations
           )
           update ticket_reservations set seen_at = $3, look_at = least(look_at, $4) from arrived
           where ticket_reservations.project_id = arrived.project_id and ticket_reservations.store_key = arrived.store_key`,
    values: [keys.map((key) => key.slice(0, 36)), keys, new Date(at), new Date(at + clientMilliseconds)],
  });
  return rowCount ?? 0;
}

/** A storeKey begins with the id of its project. What else is in the bucket is none. */
const storeKeyShape = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\/\d{19}-[^\0]+$/;
