const minuteMilliseconds = 60_000;

/** By how many milliseconds this machine is ahead of the store, going by the `Date` of an answer; NaN if it has none. */
export function toAhead(now: number, date: string | undefined): number {
  return now - Date.parse(date ?? '');
}

/** Whether the clocks are so far apart that somebody should know. */
export function isFarApart(ahead: number): boolean {
  return Math.abs(ahead) > minuteMilliseconds;
}

/**
 * Compares the clocks time after time.
 * @returns a function from how far this machine is ahead of the store, in milliseconds, to what is wrong with that, in a sentence.
 *   It has no figures, and remains until the clocks are clearly closer: otherwise clocks that drift would change it all the time
 */
export function createClockComparison(): (ahead: number) => string | undefined {
  let isApart = false;
  return (ahead) => {
    isApart = isFarApart(isApart ? 2 * ahead : ahead);
    if (!isApart) return undefined;
    const consequence = ahead > 0 ? 'last longer than they should' : 'expire early, and short-lived ones are refused';
    return `the clock of this machine is ${ahead > 0 ? 'ahead of' : 'behind'} that of the store: URLs ${consequence}. Synchronize both`;
  };
}
