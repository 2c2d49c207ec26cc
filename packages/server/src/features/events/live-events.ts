import type { Deps } from '../../deps.ts';
import type { EventRow } from '../../events/event-json.ts';
import { Problem } from '../../problem.ts';
import type { OpenFeed } from './open-feed.ts';

/** How many clients of one process may wait, and how many of these with the credentials of one account. */
const mostWaiting = 5000;
const mostOfAccount = mostWaiting / 2;

/** How many bytes of events may wait for a client that does not read them. */
const mostBytes = 1024 * 1024;

const waitingOf = new Map<string, number>();
let waiting = 0;

/** What was numbered meanwhile. */
export interface Heard {
  /** Those that were seen then: whether they still are is to be asked again once access has been looked at. */
  events: EventRow[];
  /** The number of the last event, also one that is not seen; 0 if none was heard of yet. */
  upTo: number;
}

/** What is numbered while a client waits for it. */
export interface LiveEvents {
  /**
   * Waits for the next events, at most so long. None if there were none in that time, or if the waiting is over.
   */
  next(milliseconds: number): Promise<Heard>;
  /** The client has left, the service stops, or the client has fallen behind: it can go on with the cursor that it has. */
  isOver(): boolean;
  /** Ends the listening, if the client has not left yet. */
  close(): void;
}

/**
 * Listens to the events of a feed. Read what is there already afterwards: nothing is missed, and some may come twice.
 * @throws Problem too_many_streams
 */
export async function listenTo(
  { feed }: Pick<Deps, 'feed'>,
  { projectId, userId, sees }: Pick<OpenFeed, 'projectId' | 'userId' | 'sees'>,
  gone: AbortSignal,
): Promise<LiveEvents> {
  const release = take(userId);
  let buffered: EventRow[] = [];
  let bytes = 0;
  let upTo = 0;
  let hasOverflowed = false;
  let wake: () => void = () => undefined;
  // Not `AbortSignal.any`: in Node 20, what ends late remembers each signal that was ever made of it.
  const endings = [gone, feed.ending];

  const subscriber = (events: readonly EventRow[]) => {
    upTo = events.at(-1)?.seq ?? upTo;
    for (const event of events) {
      if (hasOverflowed || !sees(event)) continue;
      buffered.push(event);
      bytes += event.data.length;
    }
    if (bytes > mostBytes) {
      hasOverflowed = true;
      buffered = [];
    }
    if (buffered.length > 0 || hasOverflowed) wake();
  };
  const unsubscribe = await feed.subscribe(projectId, subscriber).catch((error: unknown) => {
    release();
    throw error;
  });
  const isOver = () => endings.some(({ aborted }) => aborted) || hasOverflowed;
  let isClosed = false;
  function close() {
    if (isClosed) return;
    isClosed = true;
    for (const ending of endings) ending.removeEventListener('abort', close);
    unsubscribe();
    release();
    wake();
  }
  // A client that leaves at once gets a stream that is never begun, and so never closed.
  if (endings.some(({ aborted }) => aborted)) close();
  else for (const ending of endings) ending.addEventListener('abort', close);
  return {
    isOver,
    async next(milliseconds) {
      if (buffered.length === 0 && !isOver())
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, milliseconds);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      const events = buffered;
      buffered = [];
      bytes = 0;
      return { events, upTo };
    },
    close,
  };
}

/** @throws Problem too_many_streams */
function take(userId: string): () => void {
  const ofAccount = waitingOf.get(userId) ?? 0;
  if (waiting >= mostWaiting || ofAccount >= mostOfAccount) {
    throw new Problem('too_many_streams', undefined, { headers: { 'Retry-After': '5' } });
  }
  waiting++;
  waitingOf.set(userId, ofAccount + 1);
  return () => {
    waiting--;
    const left = (waitingOf.get(userId) ?? 1) - 1;
    if (left > 0) waitingOf.set(userId, left);
    else waitingOf.delete(userId);
  };
}
