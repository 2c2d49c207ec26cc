import type { DownloadUrl, Input } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { signImages } from '../../images/sign-images.ts';
import { Problem } from '../../problem.ts';
import { openFile } from '../../tree/open-file.ts';
import { signDownload } from './sign-download.ts';

export type DownloadDeps = Pick<
  Deps,
  'config' | 'db' | 'objects' | 'access' | 'images' | 'imageTokens' | 'log' | 'now'
>;

/** Creates a URL at the object store that serves a file under its name and type for `expiresIn` seconds at least; or an image. */
export async function createDownloadUrl(
  deps: DownloadDeps,
  caller: Caller,
  request: Input<'createDownloadUrl'>,
): Promise<z.output<typeof DownloadUrl>> {
  const { file } = await openFile(deps, caller, request.id, 'files:read');
  const { image: options, ...wanted } = request;
  if (!options) return signDownload(deps, file, wanted);
  const signed = (await signImages(deps, [file], { options, ...wanted })).get(file.id);
  if (signed === undefined || signed instanceof Problem) throw signed;
  return signed;
}
