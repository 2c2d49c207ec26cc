import type { Deps } from '../../deps.ts';
import { toSlot } from '../../limits/presigned-bytes.ts';
import type { Count } from '../../telemetry/observed.ts';
import { findOrphans } from './find-orphans.ts';
import { keepMilliseconds } from './orphaned-before.ts';
import { removeObjects } from './remove-objects.ts';

/**
 * Removes unrecorded uploads earlier than usual, in projects with a quota of which they may take more than half: those
 * presigned longer ago than the lifetime of a URL plus a margin. Before that, it makes them impossible to record, under
 * the lock that recordings of such a project take, so that no recording can race with the removal (decision 0041).
 * @throws Problem store_unavailable, and the signal's reason
 */
export async function settleProjects(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'accessChanges' | 'log' | 'now'>,
  signal: AbortSignal,
  count: Count,
): Promise<void> {
  await forgetOld(deps);
  const before = settledBefore(deps);
  for (const { id, swept_until } of await findCrowded(deps, before)) {
    signal.throwIfAborted();
    await settleProject(deps, { projectId: id, sweptUntil: swept_until }, before, signal, count);
  }
}

/** The beginning of a slot, Unix milliseconds. Never later than what is swept anyway. */
function settledBefore({ config, now }: Pick<Deps, 'config' | 'now'>): number {
  return toSlot(now() - (config.presignTtlSeconds + config.janitorMarginSeconds) * 1000);
}

/** Forgets what the usual sweep has already removed. */
async function forgetOld({ db, config, now }: Pick<Deps, 'config' | 'db' | 'now'>): Promise<void> {
  const before = new Date(toSlot(now() - keepMilliseconds(config)));
  await db.kysely.deleteFrom('presigned_bytes').where('since', '<', before).execute();
}

async function findCrowded({ db }: Pick<Deps, 'db'>, before: number): Promise<{ id: string; swept_until: string }[]> {
  const { rows } = await db.pool.query<{ id: string; swept_until: string }>({
    name: 'find-crowded-projects',
    text: `select projects.id, coalesce(swept_until, '') as swept_until
           from (select project_id, sum(greatest(bytes, 0)) as bytes, min(since) as oldest
                 from presigned_bytes group by project_id) as presigned
           join projects on projects.id = presigned.project_id
           left join project_sweeps on project_sweeps.project_id = projects.id
           where presigned.bytes * 2 > quota_bytes and oldest < $1`,
    values: [new Date(before)],
  });
  return rows;
}

async function settleProject(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'accessChanges' | 'log' | 'now'>,
  { projectId, sweptUntil }: { projectId: string; sweptUntil: string },
  before: number,
  signal: AbortSignal,
  count: Count,
): Promise<void> {
  if (!(await endRecording(deps, projectId, before))) return;
  // Every key issued before that time sorts below this, and every later key above.
  const end = `${projectId}/${before}`;
  // The regular sweep covers these keys once more, for late arrivals, so its position is not changed.
  for (let startAfter = sweptUntil; ; ) {
    signal.throwIfAborted();
    const page = await deps.objects.list(`${projectId}/`, startAfter === '' ? {} : { startAfter });
    const old = page.objects.filter(({ storeKey }) => storeKey < end).map(({ storeKey }) => storeKey);
    count('orphan', await removeObjects(deps, projectId, await findOrphans(deps, projectId, old, before)));
    startAfter = old.at(-1) ?? startAfter;
    if (!page.more || old.length < page.objects.length) break;
  }
  await deps.db.kysely
    .deleteFrom('presigned_bytes')
    .where('project_id', '=', projectId)
    .where('since', '<', new Date(before))
    .execute();
  await deps.accessChanges.publish({ kind: 'project', id: projectId });
}

/**
 * Waits for the recordings under way, and lets nothing issued before that time be recorded any more.
 * @returns false if the project no longer has a quota
 */
async function endRecording({ db }: Pick<Deps, 'db'>, projectId: string, before: number): Promise<boolean> {
  const { rowCount } = await db.pool.query(
    'update projects set record_from = greatest(record_from, $2) where id = $1 and quota_bytes is not null',
    [projectId, new Date(before)],
  );
  return rowCount === 1;
}
