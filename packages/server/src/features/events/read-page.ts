import type { Deps } from '../../deps.ts';
import { type EventRow, eventColumns } from '../../events/event-json.ts';
import type { OpenFeed } from './open-feed.ts';

/** How many numbers one statement goes through, also where few of their events are seen. */
const scannedAtOnce = 10_000;

/**
 * A page ends with the event that brings it to so many characters of data: one that names a thousand files has forty
 * thousand, and a thousand such events would take the memory of the process.
 */
const mostCharacters = 1024 * 1024;

/** Events, and how far they go: everything up to `cursor` has been looked at. */
export interface Page {
  events: EventRow[];
  cursor: number;
  /** Whether that is all there is for now. */
  isLast: boolean;
}

/** The next events after a number, as many as `limit`. With few of the types that are seen, or long ones, it can be fewer. */
export async function readPage(
  { db }: Pick<Deps, 'db'>,
  feed: Pick<OpenFeed, 'projectId' | 'types'>,
  after: number,
  limit: number,
): Promise<Page> {
  // One statement sees one state: numbers of a project have no gap, so the head says what was scanned.
  const { rows } = await db.pool.query<EventRow & { head: number; found: number }>({
    name: 'event-page',
    text: `
      with head as (select coalesce((select seq from event_heads where project_id = $1), 0) as head)
      select head, page.* from head left join lateral (
        select * from (
          select *, (count(*) over ())::int as found, sum(length(data)) over (order by seq) - length(data) as before from (
            select ${eventColumns} from events
            where project_id = $1 and seq > $2 and seq <= $2 + ${scannedAtOnce} and ($3::text[] is null or type = any($3))
            order by seq limit $4
          ) found
        ) measured where before < ${mostCharacters}
      ) page on true
      order by seq`,
    values: [feed.projectId, after, feed.types() ?? null, limit],
  });
  const head = rows[0]?.head ?? 0;
  const events = rows.filter(({ seq }) => seq !== null);
  const isFull = events.length === limit || events.length < (events[0]?.found ?? 0);
  const last = isFull ? events.at(-1)?.seq : undefined;
  const cursor = last ?? Math.max(after, Math.min(head, after + scannedAtOnce));
  return { events, cursor, isLast: cursor >= head };
}
