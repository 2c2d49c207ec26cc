import type { AbortedUpload, Input } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { enqueue } from '../../work/enqueue.ts';
import { marginSeconds, uploadWork } from './abort-overdue-upload.ts';
import { discardUpload } from './discard-upload.ts';
import { markAborted } from './mark-aborted.ts';
import { openUpload, requireNotCompleted } from './open-upload.ts';

/** Gives an upload up; twice is the same. The row stays for a while as the proof that it is over (`abortOverdueUpload`). */
export async function abortUpload(
  deps: Pick<Deps, 'db' | 'objects' | 'access' | 'now'>,
  caller: Caller,
  { uploadId }: Input<'abortUpload'>,
): Promise<z.output<typeof AbortedUpload>> {
  const { upload } = await openUpload(deps, caller, uploadId);
  const isAborted = await deps.db.transaction(async (trx) => {
    const isOurs = await markAborted(trx, deps.now(), upload);
    if (isOurs)
      await enqueue(trx, uploadWork, { projectId: upload.project_id, id: upload.id }, { inSeconds: marginSeconds });
    return isOurs;
  });
  if (!isAborted) {
    // Over already: in one way or, since this request looked, in the other.
    const { upload: current } = await openUpload(deps, caller, uploadId);
    requireNotCompleted(current);
  }
  await discardUpload(deps, upload);
  return { uploadId: upload.id, aborted: true };
}
