/** By how much the clocks of two processes of the service may differ. */
export const clockToleranceMilliseconds = 15 * 60_000;
