import pLimit from 'p-limit';
import type { ReservedFacts } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { Problem, settleRefusal } from '../../problem.ts';
import { keptUntil } from '../../store/kept-until.ts';
import { findIssueTime } from '../../store/store-key.ts';
import type { Count } from '../../telemetry/observed.ts';
import { discardAll } from '../../tickets/discard.ts';
import { clientMilliseconds } from '../../tickets/note-arrived.ts';
import { dropReservations, giveBack, type Reservation, selectStoreKeys } from '../../tickets/reservations.ts';
import { lookMarginMilliseconds, urlEndOf } from '../../tickets/reserve.ts';

const atOnce = 500;
const headsAtOnce = 8;
/** An upload in parts is looked at again this often while it is open. */
const hourMilliseconds = 3600_000;
const leastLookMilliseconds = 60_000;

/**
 * Gives back what tickets have reserved for uploads that will not come. When the URL of an upload has expired and nothing
 * has arrived, its share is given back; a PUT that is still on its way can be recorded as long as there is room. When it
 * can no longer be recorded, what has arrived of it is an orphan, which is removed. What has arrived with a ticket that
 * records by itself is recorded, once its client has had a minute to do so.
 * @throws Problem store_unavailable, and the signal's reason
 */
export async function lookAtReservations(
  deps: LookDeps,
  signal: AbortSignal,
  count: Count,
  record: Recorder,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const due = await findDue(deps);
    for (const ofTicket of groupByTicket(due)) await lookAtTicket(deps, ofTicket, count, record);
    if (due.length < atOnce) return;
  }
}

type LookDeps = Pick<Deps, 'config' | 'db' | 'objects' | 'log' | 'now'>;

/**
 * Records an upload in the name of its ticket.
 * @throws Problem why it cannot be recorded now
 */
export type Recorder = (reservation: Reservation, facts: ReservedFacts) => Promise<void>;

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
        select project_id, store_key, ticket_id, bytes, state, look_at, ends_at, upload_id, facts, seen_at
        from ticket_reservations where look_at <= $1 order by look_at limit $2
      ) due
      left join uploads on uploads.project_id = due.project_id and uploads.id = due.upload_id
      order by due.look_at`,
    values: [new Date(now()), atOnce],
  });
  return rows;
}

function groupByTicket(due: readonly Due[]): Due[][] {
  const groups = new Map<string, Due[]>();
  for (const one of due) groups.set(one.ticket_id, [...(groups.get(one.ticket_id) ?? []), one]);
  return [...groups.values()];
}

async function lookAtTicket(deps: LookDeps, due: readonly Due[], count: Count, record: Recorder): Promise<void> {
  const { kysely } = deps.db;
  const now = deps.now();
  // Recorded by a version that does not know reservations: what they reserved stays used.
  const recorded = due.filter(({ isRecorded, upload }) => isRecorded || upload === 'completed');
  const rest = due.filter((one) => !recorded.includes(one));
  const open = rest.filter(({ upload }) => upload === 'open');
  const aborted = rest.filter(({ upload }) => upload === 'over');
  const single = rest.filter(({ upload }) => upload === 'none');
  const over = single.filter(
    (one) => one.state === 'refused' || one.state === 'discarded' || endOf(deps, one).getTime() <= now,
  );
  const waiting = single.filter((one) => !over.includes(one));

  await dropReservations(kysely, recorded);
  await lookLater(deps, open, new Date(now + hourMilliseconds));
  await giveBack(kysely, aborted, 'discarded', new Date(now));
  await dropReservations(kysely, aborted);
  await lookForObjects(deps, waiting, record);
  const stuck = await discardAll(deps, over);
  count('orphan', over.length - stuck);
  if (stuck > 0) deps.log.warn({ ticketId: due[0]?.ticket_id, stuck }, 'The object store would not remove objects');
}

/**
 * Gives back what has not arrived. All of them are looked at once more when they can no longer be recorded, and those
 * that are recorded without their clients more often.
 */
async function lookForObjects(deps: LookDeps, waiting: readonly Due[], record: Recorder): Promise<void> {
  const limit = pLimit(headsAtOnce);
  const failed: { one: Due; error: unknown }[] = [];
  await Promise.all(
    waiting.map((one) =>
      limit(async () => {
        // A store that does not answer would not answer for the others either.
        if (failed.length === 0)
          await lookForObject(deps, one, record).catch((error: unknown) => void failed.push({ one, error }));
      }),
    ),
  );
  const [first] = failed;
  if (!first) return;
  // One that always fails would be the first again, and keep all others waiting.
  const at = new Date(deps.now() + leastLookMilliseconds);
  await lookLater(
    deps,
    failed.map(({ one }) => one),
    at,
  );
  throw first.error;
}

async function lookForObject(deps: LookDeps, one: Due, record: Recorder): Promise<void> {
  const isThere = (await deps.objects.head(one.store_key)) !== undefined;
  if (one.facts) await lookAtOwn(deps, one, one.facts, isThere, record);
  else if (isThere) await lookLater(deps, [one], endOf(deps, one));
  else await giveBack(deps.db.kysely, [one], 'released', endOf(deps, one));
}

/** Looks at an upload that the service records. It records nothing before its client has had a minute to do so. */
async function lookAtOwn(
  deps: LookDeps,
  one: Due,
  facts: ReservedFacts,
  isThere: boolean,
  record: Recorder,
): Promise<void> {
  const now = deps.now();
  if (!isThere) {
    const end = urlEndOf(deps, one) + lookMarginMilliseconds;
    if (now < end) await lookLater(deps, [one], new Date(Math.min(nextLook(one, now), end)), null);
    else if (one.state === 'reserved') await giveBack(deps.db.kysely, [one], 'released', endOf(deps, one));
    else await lookLater(deps, [one], endOf(deps, one), null);
    return;
  }
  const seenAt = one.seen_at?.getTime() ?? now;
  const recordAt = seenAt + clientMilliseconds;
  if (now < recordAt) return lookLater(deps, [one], new Date(recordAt), new Date(seenAt));
  const problem = await settleRefusal(record(one, facts));
  if (!(problem instanceof Problem)) return;
  // What stands in the way may be mended until it is too late: a full project, a folder in the trash.
  deps.log.info({ projectId: one.project_id, ticketId: one.ticket_id, code: problem.code }, 'Not recorded yet');
  await lookLater(deps, [one], new Date(Math.min(nextLook(one, now), endOf(deps, one).getTime())));
}

/** From when on what has arrived is an orphan. */
function endOf(deps: Pick<Deps, 'config'>, one: Reservation): Date {
  return new Date(Math.max(one.ends_at.getTime(), keptUntil(deps, one)));
}

/** Later each time: after half of the time since it was presigned. Unix milliseconds. */
function nextLook({ project_id, store_key }: Due, now: number): number {
  const age = now - (findIssueTime(project_id, store_key) ?? now);
  return now + Math.max(leastLookMilliseconds, age / 2);
}

/**
 * Locks them in the order in which others do.
 * @param due of one project
 * @param seenAt when they were first seen; unchanged if undefined
 */
async function lookLater({ db }: Pick<Deps, 'db'>, due: readonly Due[], at: Date, seenAt?: Date | null): Promise<void> {
  const [first] = due;
  if (!first) return;
  await db.kysely
    .updateTable('ticket_reservations')
    .from(selectStoreKeys(db.kysely, first.project_id, due).orderBy('store_key').forNoKeyUpdate().as('found'))
    .set({ look_at: at, ...(seenAt !== undefined && { seen_at: seenAt }) })
    .where('ticket_reservations.project_id', '=', first.project_id)
    .whereRef('ticket_reservations.store_key', '=', 'found.store_key')
    .execute();
}
