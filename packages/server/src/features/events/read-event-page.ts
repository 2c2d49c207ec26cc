import type { Input } from '@cadiz/contract';
import type { Caller } from '../../access/caller.ts';
import { toEventJson } from '../../events/event-json.ts';
import { listenTo } from './live-events.ts';
import { type FeedDeps, openFeed } from './open-feed.ts';
import { type Page, readPage } from './read-page.ts';

const defaultLimit = 100;

/** How often a request that waits looks whether its access has ended. */
const accessMilliseconds = 1000;

/**
 * Returns a page of events as JSON text. If there are no events yet, waits up to `wait` seconds for one, and throws if the caller
 * loses access in the meantime.
 * @param gone aborts when the client has disconnected
 */
export async function readEventPage(
  deps: FeedDeps,
  caller: Caller,
  { limit = defaultLimit, wait = 0, ...query }: Input<'readEvents'>,
  gone: AbortSignal,
): Promise<string> {
  const until = performance.now() + wait * 1000;
  const feed = await openFeed(deps, caller, query);
  const page = await readPage(deps, feed, feed.after, limit);
  if (page.events.length > 0 || !page.isLast || wait === 0) return toText(page);
  const live = await listenTo(deps, feed, gone);
  try {
    // What has come since is in the table; what comes from now on wakes this.
    let latest = await readPage(deps, feed, page.cursor, limit);
    while (latest.events.length === 0 && !live.isOver()) {
      const left = until - performance.now();
      if (left <= 0) break;
      const { events } = await live.next(Math.min(left, accessMilliseconds));
      await feed.requireAccess();
      if (events.length > 0) latest = await readPage(deps, feed, latest.cursor, limit);
    }
    // Looking again can show that the caller sees less by now.
    await feed.requireAccess();
    return toText({ ...latest, events: latest.events.filter(feed.sees) });
  } finally {
    live.close();
  }
}

function toText({ events, cursor }: Pick<Page, 'events' | 'cursor'>): string {
  return `{"events":[${events.map(toEventJson).join(',')}],"cursor":"${cursor}"}`;
}
