import type { Logger } from 'pino';
import { Whole } from './exchange.ts';
import { streamBytes } from './stream-bytes.ts';

/** Answers shorter than this are sent whole, with a Content-Length. */
const wholeBytes = 64 * 1024;

/** How many bytes are sent at once: a client that takes none of them for a minute is cut off. */
const sliceBytes = 128 * 1024;

function* slice(bytes: Buffer): Generator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += sliceBytes) yield bytes.subarray(at, at + sliceBytes);
}

/** Pieces as short as this, such as what separates two others, are sent together with the next one. */
const shortLength = 16;

/** Writes each piece in its place: joined to one string first, they would be copied twice more on their way. */
function toBytes(pieces: readonly string[]): Buffer {
  const bytes = Buffer.allocUnsafe(pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0));
  let at = 0;
  for (const piece of pieces) at += bytes.write(piece, at);
  return bytes;
}

/**
 * Streams a JSON answer from pieces of its text: the next piece is made only when the client has taken the last one. If
 * the client disconnects or stalls, the work ends: `gone` is aborted, if it is not already. A failure midway breaks the
 * connection off, so that nobody can mistake half an answer for a whole one.
 * @param hold is told how many bytes are ready before the first of them is sent; it may throw
 */
export async function streamJson(
  pieces: AsyncGenerator<string, void>,
  log: Logger,
  gone: AbortController,
  about: () => object = () => ({}),
  hold: (bytes: number) => void = () => undefined,
): Promise<Whole | Response> {
  const first: string[] = [];
  let length = 0;
  let ended = false;
  while (!ended && length < wholeBytes) {
    const next = await pieces.next();
    if (next.done) ended = true;
    else {
      first.push(next.value);
      length += next.value.length;
    }
  }
  const start = toBytes(first);
  try {
    if (start.length >= wholeBytes) hold(start.length);
  } catch (error) {
    await pieces.return();
    throw error;
  }
  if (ended) return new Whole(start, 'application/json');

  async function* bytes(): AsyncGenerator<Buffer, void> {
    try {
      yield start;
      const waiting: string[] = [];
      for await (const piece of pieces) {
        waiting.push(piece);
        if (piece.length > shortLength) yield* slice(toBytes(waiting.splice(0)));
      }
      yield* slice(toBytes(waiting));
    } catch (error) {
      // If the client disconnected while a piece was being made, that is no failure.
      if (!gone.signal.aborted) throw error;
    } finally {
      await pieces.return();
    }
  }
  return new Response(streamBytes(bytes(), { what: 'A listing', close: () => gone.abort(), log, about }), {
    headers: { 'Content-Type': 'application/json' },
  });
}
