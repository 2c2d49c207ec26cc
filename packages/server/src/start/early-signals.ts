const signals = ['SIGINT', 'SIGTERM'] as const;

/** From now on, a signal ends the process at once: nobody is being served yet, and an interrupted start loses nothing. */
export function endOnSignal(): void {
  for (const signal of signals) process.on(signal, end);
}

/** Leaves signals to listeners of others from now on. */
export function stopEndingOnSignal(): void {
  for (const signal of signals) process.off(signal, end);
}

function end(): void {
  process.stdout.write('\nStopped before it was ready.\n');
  process.exit(0);
}
