import type { Logger } from 'pino';
import { Problem } from '../problem.ts';

/** How long a client may take nothing before it is cut off: it would hold resources that others wait for. */
export const stalledMilliseconds = 60_000;

export interface Streaming {
  /** What is being streamed, such as `A download`, for the log. */
  what: string;
  /** Called once, when the stream has ended, failed, stalled or been cut off, or the client has disconnected. */
  close: () => void;
  log: Logger;
  /** What a failure's line in the log tells of the request. */
  about?: () => object;
  /** Aborts, with the reason, if the client is to be cut off. */
  cutOff?: AbortSignal;
  stallMilliseconds?: number;
}

/**
 * Streams bytes no faster than the client takes them. A failure is logged and breaks the connection off, so that nobody
 * can mistake half an answer for a whole one.
 */
export function streamBytes(
  bytes: AsyncGenerator<Buffer, void>,
  { what, close, log, about, cutOff, stallMilliseconds = stalledMilliseconds }: Streaming,
): ReadableStream<Uint8Array> {
  let stalled: NodeJS.Timeout | undefined;
  let over = false;
  let abandon: (reason: unknown) => void = () => undefined;
  const beAbandoned = () => abandon(cutOff?.reason);
  const end = () => {
    over = true;
    clearTimeout(stalled);
    cutOff?.removeEventListener('abort', beAbandoned);
    close();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        abandon = (reason) => {
          end();
          controller.error(reason);
          bytes.return().catch(() => undefined);
        };
        cutOff?.addEventListener('abort', beAbandoned, { once: true });
      },
      async pull(controller) {
        clearTimeout(stalled);
        try {
          const next = await bytes.next();
          if (over) return;
          if (next.done) {
            end();
            controller.close();
            return;
          }
          const reason = new Error(`The client took nothing for ${stallMilliseconds / 1000} s.`);
          stalled = setTimeout(() => abandon(reason), stallMilliseconds);
          controller.enqueue(next.value);
        } catch (error) {
          if (over) return;
          end();
          // A reader whose access has ended meanwhile is refused, which is no failure of the service.
          const level = error instanceof Problem && error.status < 500 ? 'info' : 'error';
          log[level]({ ...about?.(), error }, `${what} broke off`);
          controller.error(error);
        }
      },
      cancel() {
        end();
        // The generator may be waiting for bytes that never come, and nobody needs to know if it fails now.
        bytes.return().catch(() => undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
