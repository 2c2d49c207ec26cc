import type { Answer, Input } from '@cadiz/contract';
import { maxUsageDays } from '@cadiz/contract';
import type { Caller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { recordingSlots, slotsOfDay, toDayNumber } from '../../limits/usage-slots.ts';
import { Problem } from '../../problem.ts';
import { trashedSql } from './trashed-sql.ts';

type Day = Answer<'dailyUsage'>['days'][number];

interface Stored {
  files: number;
  bytes: number;
}

/** How a day changed what is stored, and what was recorded on it. */
interface Change extends Stored {
  /** Days since 1970. */
  day: number;
  uploads: number;
  addedBytes: number;
  /** What was out of sight at its end; null if the day is not closed. */
  trashed: Stored | null;
}

interface Facts {
  /** The first day of which everything is known. */
  firstDay: number;
  stored: Stored;
  trashed: Stored;
  /** From the first day asked for until now, the latest first. */
  changes: Change[];
  /** What was out of sight before these; null if nothing had changed before. */
  trashedBefore: Stored | null;
}

/**
 * What a project stored at the end of each UTC day, and what was recorded on it; by default of the last thirty days.
 * Exact but for the trash, which is looked at shortly after midnight. Leaves out days to come, and those before the
 * project or its counters were there. A key tied to a folder is refused: days are counted for whole projects.
 */
export async function readDailyUsage(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: Caller,
  { projectId, ...asked }: Input<'dailyUsage'>,
): Promise<Answer<'dailyUsage'>> {
  const today = toDayNumber(deps.now());
  const { from, to } = toRange(asked, today);
  const project = await openProject(deps, caller, projectId, 'files:read');
  if (project.within !== null) {
    throw new Problem('scope_missing', 'A key tied to a folder cannot read the usage of the whole project by day.');
  }
  const facts = await readFacts(deps, projectId, Math.max(from, 0));
  return { days: toDays(facts, Math.max(from, facts.firstDay), Math.min(to, today), today) };
}

const defaultDays = 30;

function toRange(asked: { from?: string | undefined; to?: string | undefined }, today: number) {
  const to = asked.to === undefined ? today : toDayNumber(Date.parse(asked.to));
  const from = asked.from === undefined ? to - defaultDays + 1 : toDayNumber(Date.parse(asked.from));
  if (from > to) throw wrongFrom(`must not be after ${asked.to === undefined ? 'today' : 'to'}`);
  if (to - from >= maxUsageDays) {
    throw wrongFrom(`must be at most ${maxUsageDays} days before the end: ask for longer times in parts`);
  }
  return { from, to };
}

function wrongFrom(message: string): Problem {
  return new Problem('invalid_request', `from ${message}.`, { issues: [{ path: 'from', message }] });
}

/** @param from days since 1970 */
async function readFacts({ db }: Pick<Deps, 'db'>, projectId: string, from: number): Promise<Facts> {
  const { rows } = await db.pool.query<Facts>({
    name: 'usage-daily',
    text: `
      with counted as (
        select day - date '1970-01-01' as day, file_count, total_bytes, uploads, added_bytes,
               json_build_object('files', trashed_files, 'bytes', trashed_bytes) as trashed
        from project_days where project_id = $1 and day >= date '1970-01-01' + $2::integer
        union all
        select slot / ${slotsOfDay}, file_count, total_bytes,
               case when slot % ${slotsOfDay} < ${recordingSlots} then file_count else 0 end,
               case when slot % ${slotsOfDay} < ${recordingSlots} then total_bytes else 0 end, null
        from project_usage where project_id = $1 and slot >= greatest($2, 1) * ${slotsOfDay}
      ), changes as (
        select day, sum(file_count) as files, sum(total_bytes) as bytes, sum(uploads) as uploads,
               sum(added_bytes) as "addedBytes", (array_agg(trashed) filter (where trashed is not null))[1] as trashed
        from counted group by day
      )
      select counted_from - date '1970-01-01' as "firstDay",
             (select json_build_object('files', coalesce(sum(file_count), 0), 'bytes', coalesce(sum(total_bytes), 0))
              from project_usage where project_id = $1) as stored,
             (select to_json(trashed) from (${trashedSql()}) trashed) as trashed,
             (select coalesce(json_agg(changes order by day desc), '[]') from changes) as changes,
             (select json_build_object('files', trashed_files, 'bytes', trashed_bytes) from project_days
              where project_id = $1 and day < date '1970-01-01' + $2::integer order by day desc limit 1) as "trashedBefore"
      from projects where id = $1`,
    values: [projectId, from],
  });
  if (!rows[0]) throw new Problem('project_not_found');
  return rows[0];
}

/** From the last day back to the first: what is stored now, without what later days changed. */
function toDays({ stored, changes, ...out }: Facts, first: number, last: number, today: number): Day[] {
  const days: Day[] = [];
  let { files, bytes } = stored;
  let next = 0;
  for (let day = last; day >= first; day -= 1) {
    for (; (changes[next]?.day ?? day) > day; next += 1) {
      files -= changes[next]?.files ?? 0;
      bytes -= changes[next]?.bytes ?? 0;
    }
    const change = changes[next];
    const trashed = day >= today ? out.trashed : findTrashed(change, out);
    const { uploads, addedBytes } = change?.day === day ? change : { uploads: 0, addedBytes: 0 };
    days.push({
      day: new Date(day * 86_400_000).toISOString().slice(0, '2027-01-31'.length),
      // The trash may have been looked at a little later than the slots.
      files: Math.max(files - trashed.files, 0),
      bytes: Math.max(bytes - trashed.bytes, 0),
      trashedBytes: Math.min(trashed.bytes, bytes),
      uploads,
      addedBytes,
    });
  }
  return days.reverse();
}

/** @param latest the last change until that day */
function findTrashed(latest: Change | undefined, { trashed, trashedBefore }: Pick<Facts, 'trashed' | 'trashedBefore'>) {
  if (!latest) return trashedBefore ?? { files: 0, bytes: 0 };
  return latest.trashed ?? trashed;
}
