/** Measures how fast a client takes the bytes it is given. */
export interface ReaderPace {
  /** A piece is ready for the client. */
  hand(bytes: number): void;
  /** The client has taken it and wants the next one. */
  take(): void;
  /**
   * Bytes per second over the last full window; undefined before there was one. Infinite for a client that never made
   * us wait.
   */
  bytesPerSecond(): number | undefined;
}

/**
 * Counts only the time in which a piece waited for the client: if the store is slow, its readers are not.
 * @param now milliseconds
 * @param windowMilliseconds the period over which the pace is measured
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
