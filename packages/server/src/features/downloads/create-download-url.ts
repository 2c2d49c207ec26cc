import type { DownloadUrl, Input } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { toContentDisposition } from '../../serving/content-disposition.ts';
import { toServed } from '../../serving/served-type.ts';
import { openFile } from '../../tree/open-file.ts';

/** Creates an address at the object store that serves a file under its name and type for `expiresIn` seconds. */
export async function createDownloadUrl(
  deps: Pick<Deps, 'db' | 'objects' | 'access' | 'now'>,
  caller: Caller,
  { id, expiresIn, disposition: wanted }: Input<'createDownloadUrl'>,
): Promise<z.output<typeof DownloadUrl>> {
  const { file } = await openFile(deps, caller, id, 'files:read');
  const { contentType, disposition } = toServed(file.mime_type, wanted);
  const url = deps.objects.presignGet(file.store_key, {
    expiresInSeconds: expiresIn,
    contentType,
    contentDisposition: toContentDisposition(disposition, file.file_name),
  });
  // The lifetime of a signature starts at the whole second in which it was made.
  const signedAt = Math.floor(deps.now() / 1000) * 1000;
  return { url, expiresAt: new Date(signedAt + expiresIn * 1000).toISOString() };
}
