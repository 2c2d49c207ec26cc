import type { Deps } from '../../deps.ts';
import { discardUpload } from './discard-upload.ts';
import { markAborted } from './mark-aborted.ts';
import type { UploadRow } from './open-upload.ts';

/**
 * So much longer than its deadline is an upload left alone: a completion that began in time, on a replica whose clock is
 * behind, has long come to its end. And so long does the row of an aborted one stay, for the same reason.
 */
const marginMilliseconds = 3_600_000;

export interface Abandoned {
  /** Uploads that were given up now; their rows come up again in an hour. */
  aborted: number;
  /** Rows that are gone: of completed uploads, and of aborted ones of which the store holds nothing. */
  dropped: number;
}

/**
 * Ends the uploads whose time is over, up to `limit` of them: those that were not completed are aborted and removed from
 * the store, joined or not; those that are over are forgotten. When both counts are 0 there is nothing left to do.
 * Any number of processes may do this at once.
 *
 * An aborted upload is removed from the store twice, the second time before its row goes: a part that was on its way may
 * arrive after the first (Amazon S3 API, AbortMultipartUpload), and a completion may have been under way.
 *
 * @throws Problem store_unavailable; the rows stay, and the next call goes on
 */
export async function abandonUploads(deps: Pick<Deps, 'db' | 'objects' | 'now'>, limit: number): Promise<Abandoned> {
  const due = await deps.db.kysely
    .selectFrom('uploads')
    .select(['project_id', 'id', 'store_key', 'store_upload_id', 'aborted_at', 'completed_at'])
    .where('expires_at', '<', new Date(deps.now() - marginMilliseconds))
    .orderBy('expires_at')
    .limit(limit)
    .execute();
  const counts: Abandoned = { aborted: 0, dropped: 0 };
  for (const upload of due) {
    if (upload.completed_at) {
      counts.dropped += await drop(deps, upload);
    } else if (upload.aborted_at) {
      await discardUpload(deps, upload);
      counts.dropped += await drop(deps, upload);
    } else if (await markAborted(deps, upload)) {
      counts.aborted += 1;
      await discardUpload(deps, upload);
    }
  }
  return counts;
}

/** @returns 1, or 0 when another process was faster */
async function drop(
  { db }: Pick<Deps, 'db'>,
  { project_id, id }: Pick<UploadRow, 'project_id' | 'id'>,
): Promise<number> {
  const { numDeletedRows } = await db.kysely
    .deleteFrom('uploads')
    .where('project_id', '=', project_id)
    .where('id', '=', id)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
