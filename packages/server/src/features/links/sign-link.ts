import { toContentDisposition } from '../../serving/content-disposition.ts';
import { toServed } from '../../serving/served-type.ts';
import type { Config } from '../../settings/config.ts';
import type { ObjectStore } from '../../store/object-store.ts';
import type { LinkedFile } from './open-link.ts';

/** Signing times are rounded down to this, so that a file has the same URL for five minutes, and caches can keep it. */
const windowSeconds = 300;
/** From the rounded time on: a URL that is handed out works for five to ten minutes. */
const lifeSeconds = 2 * windowSeconds;
/** How long a redirect may be kept: its URL works for longer, with some time for clocks that differ. */
export const mostCachedSeconds = windowSeconds - 60;

/** What signing depends on. */
export interface LinkSigning {
  config: Pick<Config, 'linksCacheSeconds'>;
  objects: Pick<ObjectStore, 'presignGet'>;
  now: () => number;
}

/** What signing needs to know of the file. */
export type SignedFile = Pick<LinkedFile, 'storeKey' | 'fileName' | 'mimeType' | 'disposition' | 'expiresAt'>;

/** A URL of the object store, and for how long anyone may keep the redirect to it. */
export interface SignedLink {
  url: string;
  cacheSeconds: number;
}

/** Signs a URL that serves the file behind a link, no longer than the link lasts. */
export function signLink(signing: LinkSigning, file: SignedFile, method: 'GET' | 'HEAD'): SignedLink {
  const signedAt = Math.floor(signing.now() / (windowSeconds * 1000)) * windowSeconds;
  const url = signFrom(signing, signedAt, file, method);
  return { url, cacheSeconds: Math.min(toCacheSeconds(signing, file), mostCachedSeconds) };
}

/** The oldest URL that may still be in use, handed out at the end of its five minutes in a redirect that was then kept. */
export function signOldestLink(signing: LinkSigning, file: SignedFile): { url: string; ageSeconds: number } {
  const ageSeconds = windowSeconds + Math.min(toCacheSeconds(signing, file), mostCachedSeconds);
  return { url: signFrom(signing, Math.floor(signing.now() / 1000) - ageSeconds, file, 'GET'), ageSeconds };
}

/** @param signedAt Unix seconds */
function signFrom({ objects }: LinkSigning, signedAt: number, file: SignedFile, method: 'GET' | 'HEAD'): string {
  const expiresAt = Math.min(signedAt + lifeSeconds, toSeconds(file.expiresAt));
  const { contentType, disposition } = toServed(file.mimeType, file.disposition);
  return objects.presignGet(file.storeKey, {
    method,
    signedAt: signedAt * 1000,
    expiresInSeconds: Math.max(1, expiresAt - signedAt),
    contentType,
    contentDisposition: toContentDisposition(disposition, file.fileName),
    cachedBy: 'public',
  });
}

/** How long browsers and CDNs may keep what a link answers: not beyond its end. */
export function toCacheSeconds(
  { config, now }: Pick<LinkSigning, 'config' | 'now'>,
  { expiresAt }: Pick<LinkedFile, 'expiresAt'>,
): number {
  return Math.max(0, Math.min(config.linksCacheSeconds, toSeconds(expiresAt) - Math.ceil(now() / 1000)));
}

function toSeconds(time: Date | null): number {
  return time === null ? Number.POSITIVE_INFINITY : Math.floor(time.getTime() / 1000);
}
