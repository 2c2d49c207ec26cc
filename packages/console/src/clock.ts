/** The time to the minute, for what says how long ago something was. It goes on while something listens. */

const minuteMilliseconds = 60_000;

let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

export const readMinute = (): number => Math.floor(Date.now() / minuteMilliseconds);

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
