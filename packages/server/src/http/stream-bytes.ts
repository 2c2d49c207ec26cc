import type { Logger } from 'pino';

/** A client that takes nothing for so long is cut off: it would hold what others wait for. */
const stalledMilliseconds = 60_000;

export interface Streaming {
  /** What it is, such as `A download`, for the log. */
  what: string;
  /** Called once, when it has ended, broken off, stalled, was cut off, or its client has gone. */
  close: () => void;
  log: Logger;
  /** Aborts when the client is to be cut off, with the reason. */
  cutOff?: AbortSignal;
  stallMilliseconds?: number;
}

/**
 * Bytes as a body that is made as fast as it is taken. A failure, which is logged, breaks the connection off, so that half
 * an answer cannot be taken for a whole one.
 */
export function streamBytes(
  bytes: AsyncGenerator<Buffer, void>,
  { what, close, log, cutOff, stallMilliseconds = stalledMilliseconds }: Streaming,
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
          log.error({ error }, `${what} broke off`);
          controller.error(error);
        }
      },
      cancel() {
        end();
        // It may wait for bytes that come no more; its own failure is nobody's any longer.
        bytes.return().catch(() => undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
