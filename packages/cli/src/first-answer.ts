import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** What Node's `fetch` tells of its requests (https://undici.nodejs.org/#/docs/api/DiagnosticsChannel). */
interface Told {
  request: { origin: string | URL };
  response?: { statusCode: number };
}

export interface FirstAnswer {
  /** Where the last request went that failed without an answer. */
  unreachable(): string | undefined;
  stop(): void;
}

const patienceMilliseconds = 2_000;

/**
 * Watches the requests of this process until one is answered, other than with a 5xx, since they are repeated for a while.
 *
 * @param isLate told where the first request goes, if it has waited for two seconds
 */
export function awaitFirstAnswer(isLate: (origin: string) => void): FirstAnswer {
  let timer: NodeJS.Timeout | undefined;
  let unreachable: string | undefined;
  const begin = (told: unknown) => {
    const origin = String((told as Told).request.origin);
    timer ??= setTimeout(() => isLate(origin), patienceMilliseconds).unref();
  };
  const answered = (told: unknown) => {
    if (((told as Told).response?.statusCode ?? 0) >= 500) return;
    clearTimeout(timer);
    unsubscribe(channels.begin, begin);
  };
  const failed = (told: unknown) => {
    unreachable = String((told as Told).request.origin);
  };
  subscribe(channels.begin, begin);
  subscribe(channels.answered, answered);
  subscribe(channels.failed, failed);
  return {
    unreachable: () => unreachable,
    stop() {
      clearTimeout(timer);
      unsubscribe(channels.begin, begin);
      unsubscribe(channels.answered, answered);
      unsubscribe(channels.failed, failed);
    },
  };
}

const channels = {
  begin: 'undici:request:create',
  answered: 'undici:request:headers',
  failed: 'undici:request:error',
};
