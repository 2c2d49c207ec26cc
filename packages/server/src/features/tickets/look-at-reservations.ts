import pLimit from 'p-limit';
import type { Deps } from '../../deps.ts';
import type { Count } from '../../telemetry/observed.ts';
import { discardAll } from '../../tickets/discard.ts';
import { dropReservations, giveBack, type Reservation } from '../../tickets/reservations.ts';

const atOnce = 500;
const headsAtOnce = 8;
/** An upload in parts is looked at again this often while it is open. */
const hourMilliseconds = 3600_000;

/**
 * Gives back what tickets have reserved for uploads that will not come. When the URL of an upload has expired and nothing
 * has arrived, its share is given back; a PUT that is still on its way can be recorded as long as there is room. When it
 * can no longer be recorded, what has arrived of it is an orphan, which is removed.
 * @throws Problem store_unavailable, and the signal's reason
 */
export async function lookAtReservations(
  deps: Pick<Deps, 'db' | 'objects' | 'log' | 'now'>,
  signal: AbortSignal,
  count: Count,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const due = await findDue(deps);
    for (const ofTicket of groupByTicket(due)) await lookAtTicket(deps, ofTicket, count);
    if (due.length < atOnce) return;
  }
}

type Due = Reservation & { isRecorded: boolean; upload: 'none' | 'open' | 'completed' | 'over' };

async function findDue({ db, now }: Pick<Deps, 'db' | 'now'>): Promise<Due[]> {
  const { rows } = await db.pool.query<Due>({
    name: 'find-due-reservations',
    text: `
      select due.*,
             exists (select from files where files.project_id = due.project_id and files.store_key = due.store_key)
               as "isRecorded",
             case when upload_id is null then 'none'
                  when uploads.id is null or uploads.aborted_at is not null then 'over'
                  when uploads.completed_at is null then 'open' else 'completed' end as upload
      from (
        select project_id, store_key, ticket_id, bytes, state, look_at, ends_at, upload_id
        from ticket_reservations where look_at <= $1 order by look_at limit $2
      ) due
      left join uploads on uploads.project_id = due.project_id and uploads.id = due.upload_id`,
    values: [new Date(now()), atOnce],
  });
  return rows;
}

function groupByTicket(due: readonly Due[]): Due[][] {
  const groups = new Map<string, Due[]>();
  for (const one of due) groups.set(one.ticket_id, [...(groups.get(one.ticket_id) ?? []), one]);
  return [...groups.values()];
}

async function lookAtTicket(
  deps: Pick<Deps, 'db' | 'objects' | 'log' | 'now'>,
  due: readonly Due[],
  count: Count,
): Promise<void> {
  const { kysely } = deps.db;
  const now = deps.now();
  // Recorded by a version that does not know reservations: what they reserved stays used.
  const recorded = due.filter(({ isRecorded, upload }) => isRecorded || upload === 'completed');
  const rest = due.filter((one) => !recorded.includes(one));
  const open = rest.filter(({ upload }) => upload === 'open');
  const aborted = rest.filter(({ upload }) => upload === 'over');
  const single = rest.filter(({ upload }) => upload === 'none');
  const over = single.filter(({ ends_at, state }) => state === 'discarded' || ends_at.getTime() <= now);
  const waiting = single.filter((one) => !over.includes(one));

  await dropReservations(kysely, recorded);
  await lookLater(deps, open, new Date(now + hourMilliseconds));
  await giveBack(kysely, aborted, 'discarded', new Date(now));
  await dropReservations(kysely, aborted);
  await lookForObjects(deps, waiting);
  const stuck = await discardAll(deps, over);
  count('orphan', over.length - stuck);
  if (stuck > 0) deps.log.warn({ ticketId: due[0]?.ticket_id, stuck }, 'The object store would not remove objects');
}

/** Gives back what has not arrived. All of them are looked at once more when they can no longer be recorded. */
async function lookForObjects(deps: Pick<Deps, 'db' | 'objects'>, waiting: readonly Due[]): Promise<void> {
  const limit = pLimit(headsAtOnce);
  const heads = await Promise.all(waiting.map(({ store_key }) => limit(() => deps.objects.head(store_key))));
  for (const [index, one] of waiting.entries()) {
    if (heads[index]) await lookLater(deps, [one], one.ends_at);
    else await giveBack(deps.db.kysely, [one], 'released', one.ends_at);
  }
}

async function lookLater({ db }: Pick<Deps, 'db'>, due: readonly Due[], at: Date): Promise<void> {
  const [first] = due;
  if (!first) return;
  await db.kysely
    .updateTable('ticket_reservations')
    .set({ look_at: at })
    .where('project_id', '=', first.project_id)
    .where(
      'store_key',
      'in',
      due.map(({ store_key }) => store_key),
    )
    .execute();
}
