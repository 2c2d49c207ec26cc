const minuteMilliseconds = 60_000;

/** By how much the clock of this machine is behind that of the service, in milliseconds; 0 if it is right to the minute. */
let behind = 0;

/** Takes the time from an answer of the service (RFC 9110, 6.6.1): clocks of machines may be wrong, and its own counts. */
export function setClock({ headers }: Response): void {
  const difference = Date.parse(headers.get('Date') ?? '') - Date.now();
  behind = Math.abs(difference) > minuteMilliseconds ? difference : 0;
}

/** The time of the service, in milliseconds since 1970. */
export const now = (): number => Date.now() + behind;

let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

/** The time to the minute, for what says how long ago something was. It goes on while something listens. */
export const readMinute = (): number => Math.floor(now() / minuteMilliseconds);

/** Calls the listener once a minute. @returns ends that */
export function everyMinute(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const one of listeners) one();
  }, minuteMilliseconds);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
