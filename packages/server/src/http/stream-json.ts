import type { Logger } from 'pino';
import { Whole } from './exchange.ts';
import { streamBytes } from './stream-bytes.ts';

/** Answers shorter than this are sent whole, with a Content-Length. */
const wholeBytes = 64 * 1024;

/** So many bytes at once, since whoever takes none of them for a minute is cut off. */
const sliceBytes = 128 * 1024;

function* slice(bytes: Buffer): Generator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += sliceBytes) yield bytes.subarray(at, at + sliceBytes);
}

/**
 * A JSON answer from pieces of its text, sent as they come: the next piece is made only when the client has taken the
 * last. A client that goes away, or takes nothing for long, ends the work: `gone` aborts, if it has not already. A failure
 * on the way breaks the connection off, so that half an answer cannot be taken for a whole one.
 */
export async function streamJson(
  pieces: AsyncGenerator<string, void>,
  log: Logger,
  gone: AbortController,
): Promise<Whole | Response> {
  let start = '';
  let ended = false;
  while (!ended && start.length < wholeBytes) {
    const next = await pieces.next();
    if (next.done) ended = true;
    else start += next.value;
  }
  if (ended) return new Whole(start, 'application/json');

  async function* bytes(): AsyncGenerator<Buffer, void> {
    try {
      yield Buffer.from(start);
      for await (const piece of pieces) yield* slice(Buffer.from(piece));
    } catch (error) {
      // The client may have gone while a piece was made, and that is no failure.
      if (!gone.signal.aborted) throw error;
    } finally {
      await pieces.return();
    }
  }
  return new Response(streamBytes(bytes(), { what: 'A listing', close: () => gone.abort(), log }), {
    headers: { 'Content-Type': 'application/json' },
  });
}
