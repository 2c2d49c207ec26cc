/** How long a session lives that nobody uses. */
export const idleSeconds = 7 * 24 * 3600;
/** How long one lives at all, however much it is used. */
export const longestMilliseconds = 30 * 24 * 3600 * 1000;
