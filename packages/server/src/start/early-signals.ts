import { isatty } from 'node:tty';

/** Asked now, because a terminal that has been closed is no longer recognized as one. */
const hasTerminal = [0, 1, 2].some(isatty);

/** The signals that stop the service. A terminal that is closed sends SIGHUP. */
export const stopSignals: readonly NodeJS.Signals[] = [
  'SIGINT',
  'SIGTERM',
  ...(hasTerminal ? ['SIGHUP' as const] : []),
];

// Programs that reopen their log take this signal from log rotations. Node would open its debugger instead, in which every user of the
// machine can run code as the service; `--inspect` opens it on purpose.
process.on('SIGUSR1', () => undefined);

/** From now on, a signal ends the process at once: nobody is being served yet, and an interrupted start loses nothing. */
export function endOnSignal(): void {
  for (const signal of stopSignals) process.on(signal, end);
  // Nothing that is meant for a terminal concerns a service without one. Node heeds the signal even under nohup.
  if (!hasTerminal) process.on('SIGHUP', () => undefined);
}

/** Leaves signals to listeners of others from now on. */
export function stopEndingOnSignal(): void {
  for (const signal of stopSignals) process.off(signal, end);
}

function end(): void {
  process.stdout.write('\nStopped before it was ready.\n');
  process.exit(0);
}
