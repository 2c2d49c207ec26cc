import type { Exchange, Whole } from './exchange.ts';

/**
 * Runs what nobody needs any more once the client has gone.
 * @param work is given what aborts then; what it throws afterwards is no failure
 */
export async function whileConnected(
  exchange: Exchange,
  work: (gone: AbortController) => Promise<Whole | Response>,
): Promise<Whole | Response> {
  const gone = new AbortController();
  exchange.onClose(() => gone.abort());
  try {
    return await work(gone);
  } catch (error) {
    // Nobody reads this answer; the status is what proxies count such requests under.
    if (gone.signal.aborted) return new Response(null, { status: 499 });
    throw error;
  }
}
