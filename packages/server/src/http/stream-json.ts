import type { Logger } from 'pino';

/** Answers shorter than this are sent whole, with a Content-Length. */
const wholeBytes = 64 * 1024;

/**
 * A JSON answer from pieces of its text, sent as they come: the next piece is made only when the client has taken the
 * last. A client that goes away ends the work: `gone` aborts, if it has not already. A failure on the way breaks the
 * connection off, so that half an answer cannot be taken for a whole one.
 */
export async function streamJson(
  pieces: AsyncGenerator<string, void>,
  log: Logger,
  gone: AbortController,
): Promise<Response> {
  let start = '';
  let ended = false;
  while (!ended && start.length < wholeBytes) {
    const next = await pieces.next();
    if (next.done) ended = true;
    else start += next.value;
  }
  const headers = { 'Content-Type': 'application/json' };
  if (ended) return new Response(start, { headers });

  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode(start)),
      async pull(controller) {
        try {
          const next = await pieces.next();
          // The client may have gone while this piece was made, and that is no failure.
          gone.signal.throwIfAborted();
          if (next.done) controller.close();
          else controller.enqueue(encoder.encode(next.value));
        } catch (error) {
          if (!gone.signal.aborted) log.error({ error }, 'A listing broke off');
          controller.error(error);
        }
      },
      cancel: async () => {
        gone.abort();
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}
