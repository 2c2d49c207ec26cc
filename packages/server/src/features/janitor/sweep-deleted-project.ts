import type { Deps } from '../../deps.ts';
import { toVariantsPrefix } from '../../images/image-key.ts';
import type { Count } from '../../telemetry/observed.ts';
import { keepMilliseconds } from './orphaned-before.ts';
import { removeObjects } from './remove-objects.ts';
import { sweepNextAt } from './sweep-next-at.ts';

const pagesPerTurn = 50;
/** For clocks that differ, and PUTs that have begun before their URL expired. */
const expiryMarginMilliseconds = 5 * 60_000;

/**
 * Removes everything that a deleted project has left in the object store, whoever created it. Uploads under way may
 * still arrive: the project is swept once more when every URL presigned for it has expired, and again long after that, when
 * it is forgotten.
 * @throws Problem store_unavailable, and the signal's reason
 */
export async function sweepDeletedProject(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'log' | 'now'>,
  { projectId, removedAt }: { projectId: string; removedAt: Date },
  signal: AbortSignal,
  count: Count,
): Promise<void> {
  const over = removedAt.getTime() + keepMilliseconds(deps.config);
  // Checked before anything is removed: nothing that arrives from then on has a valid signature.
  const isOver = deps.now() > over;
  const expired = removedAt.getTime() + deps.config.presignTtlSeconds * 1000 + expiryMarginMilliseconds;
  await deps.db.kysely.deleteFrom('stuck_orphans').where('project_id', '=', projectId).execute();
  await abortAll(deps, projectId, signal, count);
  const uploads = await removeAll(deps, projectId, `${projectId}/`, signal, count);
  const variants = await removeAll(deps, projectId, toVariantsPrefix(projectId), signal, count);
  const gone = uploads.gone + variants.gone;
  const kept = uploads.kept + variants.kept;
  const more = uploads.more || variants.more;
  // It begins anew each time: if the store has refused all that was asked of it, it would do so again at once, without end.
  if (more && gone > 0) await sweepNextAt(deps, projectId, deps.now());
  else if (kept > 0) await sweepNextAt(deps, projectId, deps.now() + deps.config.janitorIntervalSeconds * 1000);
  else if (!isOver) await sweepNextAt(deps, projectId, (deps.now() > expired ? over : expired) + 1);
  else await forget(deps, projectId);
}

async function abortAll(
  deps: Pick<Deps, 'objects'>,
  projectId: string,
  signal: AbortSignal,
  count: Count,
): Promise<void> {
  for (let options = {}; ; ) {
    signal.throwIfAborted();
    const { uploads, next } = await deps.objects.listMultiparts(`${projectId}/`, options);
    for (const { storeKey, uploadId } of uploads) await deps.objects.abortMultipart(storeKey, uploadId);
    count('multipart', uploads.length);
    if (!next) return;
    options = next;
  }
}

async function removeAll(
  deps: Pick<Deps, 'db' | 'objects' | 'log' | 'now'>,
  projectId: string,
  prefix: string,
  signal: AbortSignal,
  count: Count,
): Promise<{ gone: number; kept: number; more: boolean }> {
  let [gone, kept] = [0, 0];
  let startAfter: string | undefined;
  for (let pages = 0; pages < pagesPerTurn; pages++) {
    signal.throwIfAborted();
    const { objects, more } = await deps.objects.list(prefix, startAfter === undefined ? {} : { startAfter });
    const keys = objects.map(({ storeKey }) => storeKey);
    const removed = await removeObjects(deps, projectId, keys);
    count('removed_project', removed);
    gone += removed;
    kept += keys.length - removed;
    if (!more) return { gone, kept, more };
    startAfter = keys.at(-1);
  }
  return { gone, kept, more: true };
}

async function forget({ db }: Pick<Deps, 'db'>, projectId: string): Promise<void> {
  await db.transaction(async (trx) => {
    await trx.deleteFrom('removed_projects').where('project_id', '=', projectId).execute();
    await trx.deleteFrom('project_sweeps').where('project_id', '=', projectId).execute();
  });
}
