import type { Deps } from '../../deps.ts';
import { toContentDisposition } from '../../serving/content-disposition.ts';
import { toServed } from '../../serving/served-type.ts';
import { lifeSeconds, mostCachedSeconds, toSignedAt } from '../../store/link-lifetime.ts';
import type { LinkedFile } from './open-link.ts';

/** A URL of the object store, and for how long anyone may keep the redirect to it. */
export interface SignedLink {
  url: string;
  cacheSeconds: number;
}

/** Signs a URL that serves the file behind a link, no longer than the link lasts. */
export function signLink(
  deps: Pick<Deps, 'config' | 'objects' | 'now'>,
  file: LinkedFile,
  method: 'GET' | 'HEAD',
): SignedLink {
  const signedAt = toSignedAt(deps.now());
  const expiresAt = Math.min(signedAt + lifeSeconds, toSeconds(file.expiresAt));
  const { contentType, disposition } = toServed(file.mimeType, file.disposition);
  const url = deps.objects.presignGet(file.storeKey, {
    method,
    signedAt: signedAt * 1000,
    expiresInSeconds: Math.max(1, expiresAt - signedAt),
    contentType,
    contentDisposition: toContentDisposition(disposition, file.fileName),
    cachedBy: 'public',
  });
  return { url, cacheSeconds: Math.min(toCacheSeconds(deps, file), mostCachedSeconds) };
}

/** How long browsers and CDNs may keep what a link answers: not beyond its end. */
export function toCacheSeconds(
  { config, now }: Pick<Deps, 'config' | 'now'>,
  { expiresAt }: Pick<LinkedFile, 'expiresAt'>,
): number {
  return Math.max(0, Math.min(config.linksCacheSeconds, toSeconds(expiresAt) - Math.ceil(now() / 1000)));
}

function toSeconds(time: Date | null): number {
  return time === null ? Number.POSITIVE_INFINITY : Math.floor(time.getTime() / 1000);
}
