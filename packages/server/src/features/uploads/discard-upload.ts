import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { UploadRow } from './open-upload.ts';

/**
 * Removes from the store what it holds of an upload: its parts, and the object that they may have been joined to. Only for
 * uploads that are aborted: nothing can record them any more, so the object is nobody's.
 * @throws Problem store_unavailable
 */
export async function discardUpload(
  { objects }: Pick<Deps, 'objects'>,
  { store_key, store_upload_id }: Pick<UploadRow, 'store_key' | 'store_upload_id'>,
): Promise<void> {
  await objects.abortMultipart(store_key, store_upload_id);
  const [failed] = await objects.remove([store_key]);
  if (failed) throw new Problem('store_unavailable', `The object store does not remove an object: ${failed.reason}.`);
}
