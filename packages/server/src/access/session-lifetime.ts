/** How long an unused session lives. */
export const idleSeconds = 7 * 24 * 3600;
/** How long any session lives, however much it is used. */
export const longestMilliseconds = 30 * 24 * 3600 * 1000;
