/** Signing times are rounded down to this, so that a file has the same URL for five minutes, and caches can keep it. */
const windowSeconds = 300;
/** From the rounded time on: a URL that is handed out works for five to ten minutes. */
export const lifeSeconds = 2 * windowSeconds;
/** How long a redirect may be kept: its URL works for longer, with some time for clocks that differ. */
export const mostCachedSeconds = windowSeconds - 60;

/** The signing time, in Unix seconds, of a URL that a link leads to at `now` (Unix milliseconds). */
export function toSignedAt(now: number): number {
  return Math.floor(now / (windowSeconds * 1000)) * windowSeconds;
}

/** The age of the oldest URL in use: handed out at the end of its five minutes, in a redirect that was then kept. */
export function toOldestSeconds(linksCacheSeconds: number): number {
  return windowSeconds + Math.min(linksCacheSeconds, mostCachedSeconds);
}
