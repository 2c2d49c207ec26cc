import type { Deps } from '../../deps.ts';
import { purgingSlot, recordingSlots, slotsOfDay, toFirstSlot } from '../../limits/usage-slots.ts';
import { trashedSql } from './trashed-sql.ts';

const projectsAtOnce = 1000;

/**
 * Closes the days that are over: what their slots counted becomes a row of `project_days`, with what is out of sight,
 * and is added to slot 0. Finds only projects in which something changed. Safe on many replicas at once and to
 * interrupt anywhere. A recording that commits later opens its day again, and is added to its row by the next run.
 * @throws the signal's reason
 */
export async function closeDays(deps: Pick<Deps, 'db' | 'now'>, signal: AbortSignal): Promise<void> {
  for (let closed = 1; closed > 0; ) {
    const { rows } = await deps.db.pool.query<{ project_id: string }>(
      `select distinct project_id from project_usage
       where slot >= 32 and slot < $1 order by project_id limit ${projectsAtOnce}`,
      [toFirstSlot(deps.now())],
    );
    closed = 0;
    for (const { project_id } of rows) {
      signal.throwIfAborted();
      closed += await closeDaysOf(deps, project_id);
    }
  }
}

/**
 * The files that were purged since the end of the day were out of sight then. What was restored since is missed: a
 * minute's worth, unless no process was running.
 * @returns how many days were closed
 */
async function closeDaysOf({ db, now }: Pick<Deps, 'db' | 'now'>, projectId: string): Promise<number> {
  const end = `((date '1970-01-01' + number + 1)::timestamp at time zone 'UTC')`;
  const { rowCount } = await db.pool.query(
    `with project as materialized (
       select id from projects where id = $1 for key share
     ), over as materialized (
       select slot from project_usage
       where project_id = (select id from project) and slot >= ${slotsOfDay} and slot < $2 for update skip locked
     ), closed as (
       delete from project_usage using over where project_usage.project_id = $1 and project_usage.slot = over.slot
       returning project_usage.slot, file_count, total_bytes
     ), added as (
       insert into project_usage (project_id, slot, file_count, total_bytes)
       select $1, 0, sum(file_count), sum(total_bytes) from closed having count(*) > 0
       on conflict (project_id, slot) do update
         set file_count = project_usage.file_count + excluded.file_count,
             total_bytes = project_usage.total_bytes + excluded.total_bytes
     ), days as (
       select slot / ${slotsOfDay} as number, sum(file_count) as files, sum(total_bytes) as bytes,
              coalesce(sum(file_count) filter (where slot % ${slotsOfDay} < ${recordingSlots}), 0) as uploads,
              coalesce(sum(total_bytes) filter (where slot % ${slotsOfDay} < ${recordingSlots}), 0) as added_bytes
       from closed group by 1
     )
     insert into project_days (project_id, day, file_count, total_bytes, uploads, added_bytes, trashed_files, trashed_bytes)
     select $1, date '1970-01-01' + number, days.files, days.bytes, uploads, added_bytes,
            trashed.files + purged.files, trashed.bytes + purged.bytes
     from days cross join lateral (${trashedSql(end)}) trashed cross join lateral (
       select -coalesce(sum(file_count), 0) as files, -coalesce(sum(total_bytes), 0) as bytes from project_usage
       where project_id = $1 and slot >= (number + 1) * ${slotsOfDay} and slot % ${slotsOfDay} = ${purgingSlot}
     ) purged
     on conflict (project_id, day) do update
       set file_count = project_days.file_count + excluded.file_count,
           total_bytes = project_days.total_bytes + excluded.total_bytes,
           uploads = project_days.uploads + excluded.uploads,
           added_bytes = project_days.added_bytes + excluded.added_bytes,
           trashed_files = excluded.trashed_files, trashed_bytes = excluded.trashed_bytes`,
    [projectId, toFirstSlot(now())],
  );
  return rowCount ?? 0;
}
