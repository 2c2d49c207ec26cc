import { type Caller, toAsker } from '../../access/caller.ts';
import { requireCallerAgain } from '../../access/reopen-project.ts';
import type { Deps } from '../../deps.ts';
import { openVariant } from '../../images/open-variant.ts';
import { resolvePreset } from '../../images/presets.ts';
import { signVariant } from '../../images/sign-image.ts';
import { type Options, toSpec } from '../../images/spec.ts';
import { toLifetime } from '../../serving/lifetime.ts';
import { openFile } from '../../tree/open-file.ts';

/** A URL of the object store, and for how long a redirect to it may be kept. */
export interface SignedImage {
  url: string;
  cacheSeconds: number;
}

/** How the client asks for an image. */
export interface Asking {
  /** What it accepts, for `f=auto`. */
  accept: string | undefined;
  /** The one that it will ask the object store with. */
  method: 'GET' | 'HEAD';
}

/** How long the URL of a variant is valid at least. */
export const imageSeconds = 900;

/**
 * A signed URL of the object store for an image in the size and format that is asked for; it is made if need be.
 */
export async function getImage(
  deps: Pick<Deps, 'db' | 'objects' | 'access' | 'images' | 'log' | 'now'>,
  caller: Caller,
  { id, ...asked }: { id: string } & Options,
  { accept, method }: Asking,
): Promise<SignedImage> {
  const { file } = await openFile(deps, caller, id, 'files:read');
  const options = await resolvePreset(deps, file.project_id, asked);
  const variant = await openVariant(deps, file, toSpec(options, accept), async () => {
    await openFile(deps, await requireCallerAgain(deps, toAsker(caller)), id, 'files:read');
  });
  const lifetime = toLifetime(deps.now(), imageSeconds);
  const url = signVariant(deps, variant, file.file_name, { ...lifetime, method, disposition: 'inline' });
  return { url, cacheSeconds: imageSeconds / 2 };
}
