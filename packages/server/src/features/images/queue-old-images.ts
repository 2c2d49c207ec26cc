import { firstId } from '../../db/ids.ts';
import type { Deps } from '../../deps.ts';
import { imageWork } from '../../images/look.ts';
import { enqueue } from '../../work/enqueue.ts';
import type { Subject } from '../../work/work.ts';

/** What one run enqueues at most, and how much may wait already: new files come soon, however many old ones there are. */
const queuedAtOnce = 100;
const mostWaiting = 20;

/** How many files are read by one statement, and by one run. */
const pageSize = 1000;
const pagesAtOnce = 20;

interface Walk {
  after_project: string | null;
  after_file: string | null;
  is_done: boolean;
}

/**
 * Has images looked at that were recorded by an earlier version, or while none were made: goes once through all files by their
 * ids, a few in each run. While no images are made, nobody looks at what is recorded, so the walk then starts anew.
 * @returns how many were enqueued
 * @throws the signal's reason
 */
export async function queueOldImages(
  { db, images }: Pick<Deps, 'db' | 'images'>,
  signal: AbortSignal,
  { atOnce = queuedAtOnce }: { atOnce?: number } = {},
): Promise<number> {
  const { pool } = db;
  if (!images) {
    await pool.query(
      'update image_walk set after_project = null, after_file = null, is_done = false where is_done or after_project is not null',
    );
    return 0;
  }
  const walk = (await pool.query<Walk>('select after_project, after_file, is_done from image_walk')).rows[0];
  if (!walk || walk.is_done || (await countWaiting(pool)) >= mostWaiting) return 0;
  let last = { projectId: walk.after_project ?? firstId, id: walk.after_file ?? firstId };
  let queued = 0;
  for (let page = 0; page < pagesAtOnce; page += 1) {
    signal.throwIfAborted();
    const files = await readPage(pool, last);
    const unknown = files
      .filter(({ mimeType, isKnown }) => !isKnown && images.reads(mimeType))
      .slice(0, atOnce - queued);
    queued += unknown.length;
    const isFull = queued === atOnce;
    last = (isFull ? unknown.at(-1) : files.at(-1)) ?? last;
    const isDone = !isFull && files.length < pageSize;
    await db.transaction(async (trx) => {
      await enqueue(trx, imageWork, unknown);
      await trx
        .updateTable('image_walk')
        .set({ after_project: last.projectId, after_file: last.id, is_done: isDone })
        .execute();
    });
    if (isFull || isDone) break;
  }
  return queued;
}

async function countWaiting(pool: Deps['db']['pool']): Promise<number> {
  const { rows } = await pool.query(`select 1 from work where kind = $1 and state <> 'dead' limit ${mostWaiting}`, [
    imageWork,
  ]);
  return rows.length;
}

async function readPage(pool: Deps['db']['pool'], { projectId, id }: Subject) {
  const { rows } = await pool.query<Subject & { mimeType: string; isKnown: boolean }>(
    `select project_id as "projectId", id, mime_type as "mimeType",
            exists (select 1 from images where images.project_id = files.project_id and file_id = files.id) as "isKnown"
     from files where (project_id, id) > ($1, $2) order by project_id, id limit ${pageSize}`,
    [projectId, id],
  );
  return rows;
}
