import type { Logger } from 'pino';
import type { RateLimits } from './rate-limits.ts';
import type { SharedCounts } from './shared-counts.ts';

const shareMilliseconds = 1_000;
const removeMilliseconds = 60_000;

/** Shares counts every second. If the database does not answer, only the sharing stops. */
export function shareRegularly(
  limits: RateLimits,
  shared: SharedCounts,
  log: Logger,
  milliseconds = shareMilliseconds,
): { close(): Promise<void> } {
  let working: Promise<void> | undefined;
  let failing = false;
  let removeAt = Date.now() + removeMilliseconds;

  async function work(): Promise<void> {
    try {
      await limits.share();
      if (Date.now() >= removeAt) {
        removeAt = Date.now() + removeMilliseconds;
        await shared.removeEnded();
      }
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ error }, 'Rate limits are not shared: each process counts on its own for now');
      failing = true;
    }
  }

  const timer = setInterval(() => {
    working ??= work().finally(() => {
      working = undefined;
    });
  }, milliseconds);
  return {
    async close() {
      clearInterval(timer);
      await working;
    },
  };
}
