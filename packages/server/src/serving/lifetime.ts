/** The longest that one file has the same URL. */
const longestSameSeconds = 300;
/** The longest that Signature V4 lets a URL live. */
const longestLifeSeconds = 604_800;

/**
 * When a URL is signed, and for how long it lives. The time of signing is rounded down, so that one file has one
 * URL for up to five minutes and browsers can cache it; the life is longer by as much, so that no URL lives
 * shorter than asked for. A URL that is wanted for a short time only lives at most a quarter longer.
 */
export function toLifetime(now: number, expiresIn: number): { signedAt: number; expiresInSeconds: number } {
  const extra = Math.min(longestSameSeconds, Math.floor(expiresIn / 4), longestLifeSeconds - expiresIn);
  // A signature says its time in whole seconds.
  const period = Math.max(extra, 1) * 1000;
  return { signedAt: Math.floor(now / period) * period, expiresInSeconds: expiresIn + extra };
}
