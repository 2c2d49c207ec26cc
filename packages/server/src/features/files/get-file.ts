import type { Input } from '@cadiz/contract';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { openFile } from '../../tree/open-file.ts';
import { type FileView, toFileView } from '../../views/file-view.ts';

/** One file by its id alone. */
export async function getFile(
  deps: Pick<Deps, 'db' | 'access'>,
  caller: Caller,
  { id: fileId }: Input<'getFile'>,
): Promise<FileView> {
  const { file } = await openFile(deps, caller, fileId, 'files:read');
  return toFileView(file);
}
