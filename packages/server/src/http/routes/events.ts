import { accessTypes, EventsQuery } from '@cadiz/contract';
import { requireScope } from '../../access/open-project.ts';
import { readEventPage } from '../../features/events/read-event-page.ts';
import { streamEvents } from '../../features/events/stream-events.ts';
import { requireKeyOrSession } from '../caller.ts';
import { type Handler, Whole } from '../exchange.ts';
import { readQuery } from '../input.ts';
import { toLoggedRequest } from '../logged-request.ts';
import { streamBytes } from '../stream-bytes.ts';
import { addWarning } from '../unknown-names.ts';
import { whileConnected } from '../while-connected.ts';

const eventStream = 'text/event-stream';

export const readEvents: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  const asked = readQuery(exchange, EventsQuery);
  // A browser repeats the URL of its stream, and says in this header how far it came.
  const query = { ...asked, after: exchange.headers['last-event-id'] || asked.after };
  requireScope(caller, 'files:read');
  const hidden = asked.types?.filter((type) => accessTypes.includes(type)) ?? [];
  if (caller.kind === 'apiKey' && hidden.length > 0) {
    addWarning(exchange, `Left out, since events about access are for signed-in owners: ${hidden.join(', ')}.`);
  }
  const isStream = exchange.headers.accept?.toLowerCase().includes(eventStream) === true && exchange.method === 'GET';
  exchange.extraHeaders.push('Vary', 'Accept');
  return whileConnected(exchange, async (gone) => {
    if (!isStream) return new Whole(await readEventPage(deps, caller, query, gone.signal), 'application/json');
    const bytes = await streamEvents(deps, caller, query, gone.signal);
    const about = () => toLoggedRequest(exchange);
    const body = streamBytes(bytes, { what: 'A stream of events', close: () => gone.abort(), log: deps.log, about });
    return new Response(body, {
      headers: { 'Content-Type': eventStream, 'Cache-Control': 'no-store, no-transform', 'X-Accel-Buffering': 'no' },
    });
  });
};
