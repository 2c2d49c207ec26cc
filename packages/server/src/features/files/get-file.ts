import type { Input } from '@cadiz/contract';
import type { Caller, Deps } from '../../deps.ts';
import { type FileView, toFileView } from './file-view.ts';
import { openFile } from './open-file.ts';

/** One file by its id alone. @throws Problem scope_missing, file_not_found */
export async function getFile(deps: Deps, caller: Caller, { id: fileId }: Input<'getFile'>): Promise<FileView> {
  const { file } = await openFile(deps, caller, fileId, 'files:read');
  return toFileView(file);
}
