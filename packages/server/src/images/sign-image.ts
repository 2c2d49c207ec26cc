import type { Deps } from '../deps.ts';
import { toContentDisposition } from '../serving/content-disposition.ts';
import type { Variant } from './open-variant.ts';

/** When a URL is signed (Unix milliseconds), and for how long it is valid from then on. */
export interface Lifetime {
  signedAt: number;
  expiresInSeconds: number;
}

/** Signs a URL of the object store that serves a variant, under the name of its file. */
export function signVariant(
  { objects }: Pick<Deps, 'objects'>,
  { storeKey, contentType }: Variant,
  /** None for what is only shown in a page: its URL is shorter. */
  fileName: string | undefined,
  {
    disposition,
    ...lifetime
  }: Lifetime & {
    disposition: 'inline' | 'attachment';
    method?: 'GET' | 'HEAD';
    cachedBy?: 'private' | 'public';
  },
): string {
  return objects.presignGet(storeKey, {
    ...lifetime,
    contentType,
    contentDisposition:
      fileName === undefined ? disposition : toContentDisposition(disposition, toImageName(fileName, contentType)),
  });
}

/** The name of a file with the ending of the image's format. */
export function toImageName(fileName: string, contentType: string): string {
  const ending = contentType.replace('image/', '').replace('jpeg', 'jpg');
  const base = fileName.replace(/\.[^.]{1,5}$/, '');
  return `${base === '' ? 'image' : base}.${ending}`;
}
