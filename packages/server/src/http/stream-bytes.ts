import type { Logger } from 'pino';

/** A client that takes nothing for so long is cut off: it would hold what others wait for. */
const stalledMilliseconds = 60_000;

/**
 * Bytes as a body that is made as fast as it is taken. `close` is called once, when it has ended, broken off, stalled or
 * its client has gone. A failure, which is logged as one of `what`, breaks the connection off, so that half an answer
 * cannot be taken for a whole one.
 */
export function streamBytes(
  what: string,
  bytes: AsyncGenerator<Buffer, void>,
  close: () => void,
  log: Logger,
  stallMilliseconds = stalledMilliseconds,
): ReadableStream<Uint8Array> {
  let stalled: NodeJS.Timeout | undefined;
  let over = false;
  const end = () => {
    over = true;
    clearTimeout(stalled);
    close();
  };
  return new ReadableStream<Uint8Array>(
    {
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
          stalled = setTimeout(() => {
            end();
            controller.error(new Error(`The client took nothing for ${stallMilliseconds / 1000} s.`));
            bytes.return().catch(() => undefined);
          }, stallMilliseconds);
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
