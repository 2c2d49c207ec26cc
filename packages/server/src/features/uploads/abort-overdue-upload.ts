import type { Deps } from '../../deps.ts';
import { theService } from '../../events/record-event.ts';
import { keptUntil } from '../../store/kept-until.ts';
import type { Count } from '../../telemetry/observed.ts';
import type { Outcome, Subject } from '../../work/work.ts';
import { discardUpload } from './discard-upload.ts';
import { markAborted } from './mark-aborted.ts';
import type { UploadRow } from './open-upload.ts';

/** The kind of work that ends an upload in parts after its deadline. The subject is its id. */
export const uploadWork = 'upload';

/**
 * How much longer than its deadline an upload is left alone: by then, a completion that began in time, on a replica
 * whose clock is behind, has finished. The row of an aborted upload stays just as long, for the same reason.
 */
export const marginSeconds = 3600;

/**
 * Ends one upload whose deadline has passed. If it was not completed, it is aborted and removed from the store, joined
 * or not; an hour later its row is deleted. The row of a completed upload is deleted at once.
 *
 * An aborted upload is removed from the store twice, the second time before its row is deleted: a part under way may
 * arrive after the first removal (Amazon S3 API, AbortMultipartUpload), and a completion may have been under way.
 *
 * @param count is told of an upload that was aborted
 * @throws Problem store_unavailable; the row stays, and the next call resumes
 */
export async function abortOverdueUpload(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'now'>,
  { projectId, id }: Subject,
  count: Count,
): Promise<Outcome> {
  const upload = await deps.db.kysely
    .selectFrom('uploads')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  if (!upload) return undefined;
  // The queue goes by the clock of the database, but a process set the deadline by its own.
  const leftSeconds = (dueAt(deps, upload) - deps.now()) / 1000;
  if (leftSeconds > 0) return { again: leftSeconds };
  if (!upload.completed_at && !upload.aborted_at) {
    if (!(await deps.db.transaction((trx) => markAborted(trx, deps.now(), theService, upload)))) return { again: 0 };
    await discardUpload(deps, upload);
    count('upload', 1);
    return { again: marginSeconds };
  }
  if (upload.aborted_at) await discardUpload(deps, upload);
  await drop(deps, upload);
  return undefined;
}

/** When it is to be ended, or its row deleted. Unix milliseconds. */
function dueAt(deps: Pick<Deps, 'config'>, upload: UploadRow): number {
  const usual = upload.expires_at.getTime() + marginSeconds * 1000;
  return upload.completed_at || upload.aborted_at ? usual : Math.max(usual, keptUntil(deps, upload));
}

async function drop({ db }: Pick<Deps, 'db'>, { project_id, id }: Pick<UploadRow, 'project_id' | 'id'>): Promise<void> {
  await db.kysely.deleteFrom('uploads').where('project_id', '=', project_id).where('id', '=', id).execute();
}
