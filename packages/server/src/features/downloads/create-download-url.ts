import type { DownloadUrl, Input } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { openFile } from '../../tree/open-file.ts';
import { signDownload } from './sign-download.ts';

/** Creates an address at the object store that serves a file under its name and type for `expiresIn` seconds at least. */
export async function createDownloadUrl(
  deps: Pick<Deps, 'db' | 'objects' | 'access' | 'now'>,
  caller: Caller,
  request: Input<'createDownloadUrl'>,
): Promise<z.output<typeof DownloadUrl>> {
  const { file } = await openFile(deps, caller, request.id, 'files:read');
  return signDownload(deps, file, request);
}
