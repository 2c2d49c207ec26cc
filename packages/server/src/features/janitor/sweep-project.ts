import type { Deps } from '../../deps.ts';
import type { ObjectPage } from '../../store/object-store.ts';
import { findIssueTime } from '../../store/store-key.ts';
import type { Count } from '../../telemetry/observed.ts';
import { findOrphans } from './find-orphans.ts';
import { keepMilliseconds, orphanedBefore } from './orphaned-before.ts';
import { removeObjects } from './remove-objects.ts';

/** How many pages of a project are swept in one turn; then the others have theirs. */
const pagesPerTurn = 50;
const maxStuckPerTurn = 1000;
const dayMilliseconds = 24 * 3600_000;

/**
 * Examines the objects that were uploaded since the last sweep and are old enough, and removes those without a row.
 * Keys sort by time, so the cost depends only on what was uploaded since, whatever the project holds: one listing if
 * that is nothing. The oldest object that is still too young determines when the project is due again.
 * @throws Problem store_unavailable, and the signal's reason
 */
export async function sweepProject(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'log' | 'now'>,
  { projectId, ...start }: { projectId: string; sweptUntil: string },
  signal: AbortSignal,
  count: Count,
): Promise<void> {
  // Every key issued before that time sorts below this, and every later key above.
  const end = `${projectId}/${orphanedBefore(deps)}`;
  count('orphan', await removeStuck(deps, projectId));
  let { sweptUntil } = start;
  for (let pages = 0; pages < pagesPerTurn; pages++) {
    signal.throwIfAborted();
    const page = await deps.objects.list(`${projectId}/`, sweptUntil === '' ? {} : { startAfter: sweptUntil });
    const old = page.objects.filter(({ storeKey }) => storeKey < end).map(({ storeKey }) => storeKey);
    count('orphan', await removeObjects(deps, projectId, await findOrphans(deps, projectId, old)));
    const last = old.at(-1);
    const isEnd = !page.more || old.length < page.objects.length;
    const next = isEnd ? await findNextSweep(deps, projectId, page.objects[old.length]) : deps.now();
    await moveOn(deps, projectId, sweptUntil, last ?? sweptUntil, next);
    sweptUntil = last ?? sweptUntil;
    if (isEnd) return;
  }
}

/** Removes objects that the store failed to remove before, beginning with those that it refused longest ago. */
async function removeStuck(deps: Pick<Deps, 'config' | 'db' | 'objects' | 'now'>, projectId: string): Promise<number> {
  const rows = await deps.db.kysely
    .selectFrom('stuck_orphans')
    .select('store_key')
    .where('project_id', '=', projectId)
    .orderBy('found_at')
    .limit(maxStuckPerTurn)
    .execute();
  if (rows.length === 0) return 0;
  const keys = rows.map(({ store_key }) => store_key);
  const failed = new Set(
    (await deps.objects.remove(await findOrphans(deps, projectId, keys))).map((one) => one.storeKey),
  );
  // Otherwise, as many as one turn takes that are refused for good would keep all others from being tried again.
  if (failed.size > 0) {
    await deps.db.kysely
      .updateTable('stuck_orphans')
      .set({ found_at: new Date(deps.now()) })
      .where('project_id', '=', projectId)
      .where('store_key', 'in', [...failed])
      .execute();
  }
  const gone = keys.filter((key) => !failed.has(key));
  if (gone.length === 0) return 0;
  await deps.db.kysely
    .deleteFrom('stuck_orphans')
    .where('project_id', '=', projectId)
    .where('store_key', 'in', gone)
    .execute();
  return gone.length;
}

/**
 * The time at which the oldest of the objects that are too young becomes old enough; if there are none, the earliest
 * time at which an object uploaded from now on could. At most a day ahead, in case the settings change.
 */
async function findNextSweep(
  { db, config, now }: Pick<Deps, 'config' | 'db' | 'now'>,
  projectId: string,
  young: ObjectPage['objects'][number] | undefined,
): Promise<number> {
  const interval = config.janitorIntervalSeconds * 1000;
  const stuck = await db.kysely
    .selectFrom('stuck_orphans')
    .select('store_key')
    .where('project_id', '=', projectId)
    .limit(1)
    .executeTakeFirst();
  if (stuck) return now() + interval;
  const issuedAt = young ? findIssueTime(projectId, young.storeKey) : undefined;
  const next = (issuedAt ?? now()) + keepMilliseconds(config) + 1;
  return Math.min(Math.max(next, now() + interval), now() + dayMilliseconds);
}

/** Only from where this sweep started: another process may have taken over. */
async function moveOn(
  { db }: Pick<Deps, 'db'>,
  projectId: string,
  from: string,
  to: string,
  next: number,
): Promise<void> {
  await db.kysely
    .updateTable('project_sweeps')
    .set({ swept_until: to, next_sweep_at: new Date(next) })
    .where('project_id', '=', projectId)
    .where('swept_until', '=', from)
    .execute();
}
