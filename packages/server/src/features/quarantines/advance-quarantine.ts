import { type RawBuilder, sql, type Transaction } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { openDay } from '../../limits/open-day.ts';
import { lockTree } from '../../tree/lock-tree.ts';
import { enqueue } from '../../work/enqueue.ts';
import type { Outcome, Subject } from '../../work/work.ts';
import type { QuarantineRow } from './quarantine-view.ts';

/** How many files one statement examines or releases: other statements wait for the rows no longer than that takes. */
const batchSize = 1000;

/** How many batches are done before the request is answered, and how many in each later turn. */
const batchesInRequest = 5;
const batchesPerTurn = 50;

/** The kind of work that advances a quarantine. The subject is its id. */
export const quarantineWork = 'quarantine';

/**
 * A request works on its quarantine itself; the queue waits this long, and takes over if the request's process has
 * died.
 */
const requestSeconds = 30;

const underWay: ReadonlySet<QuarantineRow['state']> = new Set(['marking', 'releasing', 'trashing']);

/** Enqueues what the request leaves undone, in the transaction that creates or ends the quarantine. */
export async function enqueueQuarantine(trx: Transaction<Schema>, { project_id, id }: QuarantineRow): Promise<void> {
  await enqueue(trx, quarantineWork, { projectId: project_id, id }, { inSeconds: requestSeconds });
}

/** Advances a quarantine before its request is answered, and leaves the rest to the queue. */
export async function advanceNow(deps: Pick<Deps, 'db' | 'now'>, row: QuarantineRow): Promise<QuarantineRow> {
  let current = row;
  for (let batches = 0; underWay.has(current.state) && batches < batchesInRequest; batches += 1) {
    current = (await advanceQuarantine(deps, current)) ?? current;
  }
  if (underWay.has(current.state)) {
    await enqueue(deps.db.kysely, quarantineWork, { projectId: current.project_id, id: current.id });
  }
  return current;
}

/**
 * Advances one quarantine by up to 50 batches; then others have their turn.
 * @throws the signal's reason
 */
export async function continueQuarantine(
  deps: Pick<Deps, 'db' | 'now'>,
  { projectId, id }: Subject,
  signal: AbortSignal,
): Promise<Outcome> {
  for (let batches = 0; batches < batchesPerTurn; batches += 1) {
    signal.throwIfAborted();
    const row = await advanceQuarantine(deps, { project_id: projectId, id });
    if (!row || !underWay.has(row.state)) return undefined;
  }
  return { again: 0 };
}

interface Batch {
  /** The last file examined; null if none was. */
  last: string | null;
  /** How many files were examined. */
  looked: number;
  files: number;
  bytes: number;
  /** How many of these another quarantine holds from now on. */
  keptFiles: number;
  keptBytes: number;
}

/**
 * Does one batch and stores the progress, in one transaction: it can be interrupted anywhere, and may run on many
 * replicas at once.
 * @returns the row afterwards; undefined if it is gone
 */
async function advanceQuarantine(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { project_id, id }: Pick<QuarantineRow, 'project_id' | 'id'>,
): Promise<QuarantineRow | undefined> {
  return db.transaction(async (trx) => {
    if (!(await lockTree(trx, project_id))) return undefined;
    const row = await trx
      .selectFrom('quarantines')
      .selectAll()
      .where('project_id', '=', project_id)
      .where('id', '=', id)
      .forUpdate()
      .executeTakeFirst();
    if (!row || !underWay.has(row.state)) return row;
    const batch = await (row.state === 'marking' ? mark : row.state === 'releasing' ? release : trash)(trx, row);
    await openDay(trx, project_id, now());
    const isDone = batch.looked < batchSize;
    const isMarking = row.state === 'marking';
    return trx
      .updateTable('quarantines')
      .set({
        state: isDone ? doneAfter[row.state] : row.state,
        reached: batch.last ?? row.reached,
        file_count: row.file_count + (isMarking ? batch.files : 0),
        total_bytes: row.total_bytes + (isMarking ? batch.bytes : 0),
      })
      .where('project_id', '=', project_id)
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst();
  });
}

const doneAfter: Record<QuarantineRow['state'], QuarantineRow['state']> = {
  marking: 'held',
  held: 'held',
  releasing: 'released',
  released: 'released',
  trashing: 'trashed',
  trashed: 'trashed',
};

const counted = sql`
  select (select id from looked order by id desc limit 1) as last, (select count(*) from looked)::int as looked,
         count(*)::int as files, coalesce(sum(file_size), 0)::bigint as bytes,
         count(*) filter (where is_kept)::int as "keptFiles",
         coalesce(sum(file_size) filter (where is_kept), 0)::bigint as "keptBytes"
  from changed`;

/**
 * In the order of ids, which is that of time: every file that the key has recorded since the given moment is examined.
 * As in `joinChildren`, `num_nulls` keeps a planner without statistics from the indexes of files that are not in the
 * trash; and an array of ids keeps it from a join that reads all files for each of them.
 */
async function mark(trx: Transaction<Schema>, row: QuarantineRow): Promise<Batch> {
  const { rows } = await sql<Batch>`
    with looked as materialized (
      select id, created_by_key from files
      where project_id = ${row.project_id} and id > ${row.reached} order by id limit ${batchSize}
    ), changed as (
      update files
      set trash_id = ${row.id}::uuid, trashed_at = ${row.created_at}, trashed_by_user = ${row.created_by}::uuid
      where project_id = ${row.project_id} and num_nulls(trash_id) = 1
        and id = any(array(select id from looked where created_by_key = ${row.api_key_id}))
      returning file_size, false as is_kept
    )
    ${counted}`.execute(trx);
  return rows[0] ?? nothing;
}

/**
 * Makes files visible again, except those that another quarantine of the same key would hold if this one had not: these
 * go over to that one.
 */
async function release(trx: Transaction<Schema>, row: QuarantineRow): Promise<Batch> {
  const heir = await lockHeir(trx, row);
  const isKept = heir ? sql`created_at >= ${heir.since}` : sql`false`;
  const batch = await letGo(
    trx,
    row,
    sql`trash_id = case when ${isKept} then ${heir?.id ?? null}::uuid end,
        trashed_at = case when ${isKept} then ${heir?.created_at ?? null}::timestamptz end,
        trashed_by_user = case when ${isKept} then ${heir?.created_by ?? null}::uuid end,
        trashed_by_key = null,
        folder_id = case when not ${isKept} and id = any(array(select id from looked where is_lost)) then null else folder_id end,
        -- What another file has claimed stays with that file: a release must not stop in the middle.
        external_id = case when not ${isKept} and external_id_ceded then null else external_id end,
        external_id_ceded = case when ${isKept} then external_id_ceded end,
        -- A repeated recording is held only to what such a file was recorded with and has kept.
        updated_at = case when not ${isKept} and (id = any(array(select id from looked where is_lost)) or external_id_ceded)
          then greatest(date_trunc('milliseconds', now()), updated_at + interval '1 millisecond') else updated_at end`,
  );
  if (heir && batch.keptFiles > 0) {
    await trx
      .updateTable('quarantines')
      .set({ file_count: heir.file_count + batch.keptFiles, total_bytes: heir.total_bytes + batch.keptBytes })
      .where('project_id', '=', heir.project_id)
      .where('id', '=', heir.id)
      .execute();
  }
  return batch;
}

/**
 * Of the quarantines that cover the released files, the one that reaches back furthest covers most. The lock keeps it
 * from ending meanwhile.
 */
async function lockHeir(trx: Transaction<Schema>, row: QuarantineRow): Promise<QuarantineRow | undefined> {
  const [heir] = await trx
    .selectFrom('quarantines')
    .selectAll()
    .where('project_id', '=', row.project_id)
    .where('api_key_id', '=', row.api_key_id)
    .where('state', 'in', ['marking', 'held'])
    .orderBy('since')
    .forUpdate()
    .execute();
  return heir;
}

/** Moves the files to the trash, where each is an entry of its own. */
function trash(trx: Transaction<Schema>, row: QuarantineRow): Promise<Batch> {
  return letGo(
    trx,
    row,
    sql`trash_id = id, trashed_by_user = ${row.ended_by}::uuid, trashed_by_key = null,
        trashed_at = greatest(${row.ended_at}::timestamptz,
          (select trash_emptied_at + interval '1 millisecond' from projects where id = ${row.project_id}))`,
  );
}

async function letGo(trx: Transaction<Schema>, row: QuarantineRow, changes: RawBuilder<unknown>): Promise<Batch> {
  const { rows } = await sql<Batch>`
    with looked as materialized (
      select held.id, folders.trash_id is not null as is_lost from (
        select id, folder_id from files
        where project_id = ${row.project_id} and trash_id is not null and trashed_at = ${row.created_at}
          and id > ${row.reached} and trash_id = ${row.id}::uuid
        order by id limit ${batchSize}
      ) held left join folders on folders.project_id = ${row.project_id} and folders.id = held.folder_id
    ), changed as (
      update files set ${changes}
      where project_id = ${row.project_id} and id = any(array(select id from looked)) and trash_id = ${row.id}::uuid
      returning file_size, trash_id is not null as is_kept
    )
    ${counted}`.execute(trx);
  return rows[0] ?? nothing;
}

const nothing: Batch = { last: null, looked: 0, files: 0, bytes: 0, keptFiles: 0, keptBytes: 0 };
