/** How long an unused session lives. */
export const idleSeconds = 7 * 24 * 3600;
/** How long any session lives, however much it is used. */
export const longestMilliseconds = 30 * 24 * 3600 * 1000;

/**
 * When a session expires that began then and is used now.
 * @param at Unix milliseconds
 */
export const expiryOf = (startedAt: Date, at: number): Date =>
  new Date(Math.min(at + idleSeconds * 1000, startedAt.getTime() + longestMilliseconds));
