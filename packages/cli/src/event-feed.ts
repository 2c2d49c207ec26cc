import type { Client, Event, EventType } from '@cadiz/client';
import { type Context, connect } from './context.ts';
import { usageFailure } from './failure.ts';
import { count, readDuration } from './format.ts';

export interface FeedOptions {
  /** As it was written; undefined for the usual beginning. */
  since: string | undefined;
  type: readonly string[];
  /** Whether to wait for what has not happened yet. */
  follow: boolean;
  /** The command that goes on after this event, for Ctrl-C. */
  toNext(seq: string): string;
}

/** Events, one after the other; one counts as handled when the next is asked for. @throws Failure, CadizError */
export async function* readFeed(context: Context, options: FeedOptions): AsyncGenerator<Event, void> {
  const { output } = context;
  const types = await readTypes(options.type);
  const client = await connect(context, { onAnswer: sayTrouble(context) });
  let after = await findStart(client, options);
  context.onInterrupt(() => output.say(`\nGo on with: ${options.toNext(after ?? '0')}`));
  const events = options.follow
    ? client.events.follow({ after, types })
    : readKept(client, { after, types, end: await findEnd(client) });
  for await (const event of events) {
    yield event;
    after = String(event.seq);
  }
}

/** How far the feed goes now. */
const findEnd = async (client: Client): Promise<number> =>
  Number((await client.events.page({ after: 'latest' })).cursor);

interface Kept {
  after: string | undefined;
  /** As `findEnd` has found it, so that this ends while more is happening. */
  end: number;
  types?: EventType[] | undefined;
  limit?: number;
}

/** The events up to `end`. A page with few events, or none, is not the last: only the cursor says that. */
async function* readKept(client: Client, { after, end, types, limit = 1000 }: Kept): AsyncGenerator<Event, void> {
  for (let cursor = after; cursor === undefined || Number(cursor) < end; ) {
    const page = await client.events.page({ after: cursor, limit, types });
    yield* page.events;
    cursor = page.cursor;
  }
}

/** The first event after a number that the caller sees; undefined if there is none until `end`. */
async function findNext(client: Client, after: string | undefined, end: number): Promise<Event | undefined> {
  for await (const event of readKept(client, { after, end, limit: 1 })) return event;
  return undefined;
}

/** Tells once that the service cannot be reached, and once that it can again. */
function sayTrouble({ output }: Context): (isAnswered: boolean) => void {
  let isLost = false;
  return (isAnswered) => {
    if (isAnswered === !isLost) return;
    isLost = !isAnswered;
    output.say(isLost ? 'The service cannot be reached. Trying until it can …' : 'The service can be reached again.');
  };
}

async function readTypes(given: readonly string[]): Promise<EventType[] | undefined> {
  if (given.length === 0) return undefined;
  const { feedTypes } = await import('@cadiz/contract');
  const isType = (text: string): text is EventType => feedTypes.some((type) => type === text);
  const texts = given.flatMap((text) => text.split(','));
  const wrong = texts.find((text) => !isType(text));
  if (wrong !== undefined) throw usageFailure(`--type ${wrong} is not an event type: docs/events.md lists them.`);
  return texts.filter(isType);
}

/** The cursor that comes before the first event; undefined for everything that is kept. */
async function findStart(client: Client, { since, follow }: FeedOptions): Promise<string | undefined> {
  if (since === undefined) return follow ? String(await findEnd(client)) : undefined;
  if (/^\d{1,15}$/.test(since)) return since;
  const time = /^\d+[smhdw]$/.test(since) ? Date.now() - 1000 * readDuration('since', since) : readTime(since);
  if (Number.isNaN(time))
    throw usageFailure(`--since ${since} must be a number, a time such as 2027-01-31T12:00Z, or 15m, 2h or 7d.`);
  return findCursor(client, time);
}

/** `Date.parse` alone finds a time in almost any words with a number. */
const readTime = (text: string): number => (/^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN);

/** Which events came before a time, by halving what is kept: the feed is in the order of time. */
async function findCursor(client: Client, time: number): Promise<string> {
  let notBefore = await findEnd(client);
  const oldest = await findNext(client, undefined, notBefore);
  let before = oldest ? oldest.seq - 1 : notBefore;
  while (before < notBefore) {
    const middle = Math.floor((before + notBefore) / 2);
    const event = await findNext(client, String(middle), notBefore);
    if (event && event.seq <= notBefore && Date.parse(event.at) < time) before = event.seq;
    else notBefore = middle;
  }
  return String(before);
}

/** The width of the column of types, in characters; few are longer. */
export const typeColumns = 'file.content_mismatch'.length;

/** What an event is about: a name if there is one. */
export function toSubject({ data, type }: Event): string {
  const facts: Readonly<Record<string, unknown>> = { ...data };
  const found = ['fileName', 'name', 'email', 'ticketId', 'id'].map((name) => facts[name]);
  const named = found.find((value) => typeof value === 'string');
  const changed = Array.isArray(facts.changed) ? ` (${facts.changed.join(', ')})` : '';
  if (typeof facts.percent === 'number') return `${facts.percent} % of the quota`;
  if (typeof named === 'string') return `${named}${type.startsWith('folder.') && 'name' in facts ? '/' : ''}${changed}`;
  const amounts = (['file', 'folder'] as const).flatMap((noun) => {
    const amount = facts[`${noun}s`];
    return typeof amount === 'number' && amount > 0 ? [count(amount, noun)] : [];
  });
  return amounts.join(', ');
}

/** Who caused an event, by the last part of the id, which differs most. */
export function toActor({ actor }: Event): string {
  if (!actor) return 'the service';
  const [kind, id] = Object.entries(actor)[0] ?? ['', ''];
  const nouns: Record<string, string> = { apiKeyId: 'key', ticketId: 'ticket', userId: 'user' };
  return `${nouns[kind] ?? kind} …${String(id).split('-').at(-1)}`;
}
