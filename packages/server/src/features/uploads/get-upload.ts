import type { Input, Upload } from '@cadiz/contract';
import type { z } from 'zod';
import type { Uploader } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { StoredPart } from '../../store/object-store.ts';
import { openUpload, requireNotOver, type UploadRow } from './open-upload.ts';
import { toUploadFacts } from './upload-view.ts';

type UploadView = z.output<typeof Upload>;

/** An upload with the parts that have arrived, for a client that wants to resume it. */
export async function getUpload(
  deps: Pick<Deps, 'db' | 'objects' | 'access' | 'now'>,
  caller: Uploader,
  { uploadId }: Input<'getUpload'>,
): Promise<UploadView> {
  const { upload } = await openUpload(deps, caller, uploadId);
  requireNotOver(deps, upload);
  if (upload.completed_at) return toView(upload, 'completed');
  const parts = await deps.objects.listParts(upload.store_key, upload.store_upload_id);
  if (parts) return toView(upload, 'open', parts);
  // Joined but not recorded: the completion failed between the two.
  if (await deps.objects.head(upload.store_key)) return toView(upload, 'stored');
  throw lostByStore();
}

/** Somebody else has aborted it in the store; stores also do so by rules of their own. */
export function lostByStore(): Problem {
  return new Problem('upload_not_found', 'The object store does not know the upload any more. Begin again.');
}

function toView(upload: UploadRow, status: UploadView['status'], parts: readonly StoredPart[] = []): UploadView {
  return {
    ...toUploadFacts(upload),
    status,
    fileId: upload.file_id,
    parts: parts.map(({ partNumber, etag, sizeBytes }) => ({ partNumber, etag, size: sizeBytes })),
  };
}
