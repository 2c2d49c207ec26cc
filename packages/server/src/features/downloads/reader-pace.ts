/** How fast a client takes what it is given. */
export interface ReaderPace {
  /** A piece is there for the client. */
  hand(bytes: number): void;
  /** The client has taken it, and wants the next. */
  take(): void;
  /** Bytes a second, over the last full window; undefined before there was one. Infinite for who never let us wait. */
  bytesPerSecond(): number | undefined;
}

/**
 * Only the time counts in which a piece waited for the client: where the store is slow, its readers are not.
 * @param now milliseconds
 * @param windowMilliseconds over how long the pace is taken
 */
export function createReaderPace(now: () => number, windowMilliseconds: number): ReaderPace {
  let pace: number | undefined;
  let windowStart = now();
  let takenBytes = 0;
  let waitedMilliseconds = 0;
  let handed: { bytes: number; at: number } | undefined;

  function countWaiting(): void {
    if (!handed) return;
    const at = now();
    waitedMilliseconds += at - handed.at;
    handed.at = at;
  }

  function endWindow(): void {
    if (now() - windowStart < windowMilliseconds) return;
    countWaiting();
    pace = waitedMilliseconds === 0 ? Number.POSITIVE_INFINITY : takenBytes / (waitedMilliseconds / 1000);
    windowStart = now();
    takenBytes = 0;
    waitedMilliseconds = 0;
  }

  return {
    hand(bytes) {
      handed = { bytes, at: now() };
    },
    take() {
      countWaiting();
      takenBytes += handed?.bytes ?? 0;
      handed = undefined;
      endWindow();
    },
    bytesPerSecond() {
      endWindow();
      return pace;
    },
  };
}
