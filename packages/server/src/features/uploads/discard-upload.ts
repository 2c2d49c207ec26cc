import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { UploadRow } from './open-upload.ts';

/**
 * Removes everything that the store holds of an upload: its parts, and the object that they may have been joined into.
 * Only for aborted uploads: they can no longer be recorded, so nobody needs the object.
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
