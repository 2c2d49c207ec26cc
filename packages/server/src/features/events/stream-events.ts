import type { Input } from '@cadiz/contract';
import type { Caller } from '../../access/caller.ts';
import { type EventRow, toEventJson } from '../../events/event-json.ts';
import { settleRefusal } from '../../problem.ts';
import { type LiveEvents, listenTo } from './live-events.ts';
import { type FeedDeps, type OpenFeed, openFeed } from './open-feed.ts';
import { readPage } from './read-page.ts';

const readAtOnce = 200;

/** How often a client hears that the stream is alive, and how often its access is looked at. */
const aliveMilliseconds = 10_000;

/** How long a client is to wait before it reconnects, in milliseconds. */
const retryMilliseconds = 3000;

/**
 * The events of a project as server-sent events, until the client leaves, loses access, falls behind, or the service
 * stops. Its answer begins once it is certain that the client may read them.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export async function streamEvents(
  deps: FeedDeps,
  caller: Caller,
  query: Input<'readEvents'>,
  gone: AbortSignal,
): Promise<AsyncGenerator<Buffer, void>> {
  const feed = await openFeed(deps, caller, query);
  const live = await listenTo(deps, feed, gone);
  return stream(deps, feed, live);
}

async function* stream(deps: FeedDeps, feed: OpenFeed, live: LiveEvents): AsyncGenerator<Buffer, void> {
  try {
    let after = feed.after;
    yield Buffer.from(`retry: ${retryMilliseconds}\n${toMark(after)}`);
    for (let isBehind = true; isBehind && !live.isOver(); ) {
      const { events, cursor, isLast } = await readPage(deps, feed, after, readAtOnce);
      if (!(await isStillOpen(feed))) return;
      const seen = events.filter(feed.sees);
      if (seen.length > 0) yield toText(seen);
      after = cursor;
      isBehind = !isLast;
    }
    while (!live.isOver()) {
      const { events, upTo } = await live.next(aliveMilliseconds);
      if (live.isOver() || !(await isStillOpen(feed))) return;
      const seen = events.filter((event) => event.seq > after && feed.sees(event));
      after = Math.max(after, upTo);
      yield seen.length > 0 ? toText(seen) : Buffer.from(`: alive\n${toMark(after)}`);
    }
  } finally {
    live.close();
  }
}

async function isStillOpen(feed: OpenFeed): Promise<boolean> {
  return !(await settleRefusal(feed.requireAccess()));
}

/** How far was looked: without data this is no event, but a client that reconnects says it as `Last-Event-ID`. */
function toMark(seq: number): string {
  return `id: ${seq}\n\n`;
}

function toText(events: readonly EventRow[]): Buffer {
  return Buffer.from(
    events.map((event) => `id: ${event.seq}\nevent: ${event.type}\ndata: ${toEventJson(event)}\n\n`).join(''),
  );
}
