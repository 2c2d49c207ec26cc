import { createStore } from './store.ts';

/** Until when the service asks to wait, in milliseconds since 1970 by the clock of this machine; undefined while it does not. */
export const waitingUntil = createStore<number | undefined>(undefined);

/** A wait that is shorter is over before anybody has read of it, and the SDK waits no longer than this, in seconds. */
const shortest = 3;
const longest = 300;

let timer: ReturnType<typeof setTimeout> | undefined;

/** Takes from an answer whether the service asks to wait (RFC 9110, 10.2.3): then what was asked for is asked for again. */
export function hearOfWait({ status, headers }: Response): void {
  const seconds = status === 429 || status === 503 ? Number(headers.get('Retry-After')) : 0;
  const until = Date.now() + seconds * 1000;
  if (!(seconds > shortest && seconds <= longest) || until < (waitingUntil.read() ?? 0)) return;
  waitingUntil.set(until);
  clearTimeout(timer);
  timer = setTimeout(() => waitingUntil.set(undefined), seconds * 1000);
}
