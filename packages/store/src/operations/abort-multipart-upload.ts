import { type Call, sendEmpty } from '../protocol/call.ts';
import { noSuchUpload, requireUploadName } from './multipart-upload.ts';

/**
 * DELETE /bucket/key?uploadId=: ends an upload and removes its parts. Parts that are still arriving are refused.
 *
 * @throws S3Error NoSuchUpload
 */
export async function abortMultipartUpload(call: Call): Promise<void> {
  const removed = await call.store.index.uploads.abort(requireUploadName(call));
  if (!removed) throw noSuchUpload();
  void call.store.reaper.remove(removed);
  sendEmpty(call, 204);
}
