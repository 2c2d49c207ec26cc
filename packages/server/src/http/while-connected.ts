import type { Exchange, Whole } from './exchange.ts';

/** Made once: each request ends with it, and what `abort` makes by itself records where it was called. */
const disconnected = new Error('The client has disconnected, or has its answer.');

/**
 * Runs work that is pointless once the client has disconnected.
 * @param work receives a controller that aborts then; errors it throws afterwards are not failures
 */
export async function whileConnected(
  exchange: Exchange,
  work: (gone: AbortController) => Promise<Whole | Response>,
): Promise<Whole | Response> {
  const gone = new AbortController();
  exchange.onClose(() => gone.abort(disconnected));
  try {
    return await work(gone);
  } catch (error) {
    // Nobody reads this answer. 499 is the status under which proxies count such requests.
    if (gone.signal.aborted) return new Response(null, { status: 499 });
    throw error;
  }
}
