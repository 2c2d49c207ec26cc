import type { AbortedUpload, Input } from '@cadiz/contract';
import type { z } from 'zod';
import type { Uploader } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { enqueue } from '../../work/enqueue.ts';
import { marginSeconds, uploadWork } from './abort-overdue-upload.ts';
import { discardUpload } from './discard-upload.ts';
import { markAborted } from './mark-aborted.ts';
import { openUpload, requireNotCompleted } from './open-upload.ts';

/**
 * Aborts an upload. Aborting it again changes nothing. The row stays for a while as proof that the upload is over
 * (`abortOverdueUpload`).
 */
export async function abortUpload(
  deps: Pick<Deps, 'db' | 'objects' | 'access' | 'now'>,
  caller: Uploader,
  { uploadId }: Input<'abortUpload'>,
): Promise<z.output<typeof AbortedUpload>> {
  const { upload } = await openUpload(deps, caller, uploadId);
  const isAborted = await deps.db.transaction(async (trx) => {
    const isOurs = await markAborted(trx, deps.now(), caller, upload);
    if (isOurs)
      await enqueue(trx, uploadWork, { projectId: upload.project_id, id: upload.id }, { inSeconds: marginSeconds });
    return isOurs;
  });
  if (!isAborted) {
    // It is already over, aborted or completed, perhaps since this request looked.
    const { upload: current } = await openUpload(deps, caller, uploadId);
    requireNotCompleted(current);
  }
  await discardUpload(deps, upload);
  return { uploadId: upload.id, aborted: true };
}
