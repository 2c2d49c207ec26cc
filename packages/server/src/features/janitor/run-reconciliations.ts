import type { Selectable } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { keepProject } from '../../db/keep-rows.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import type { Count } from '../../telemetry/observed.ts';
import { type Comparison, comparePage } from './compare-page.ts';
import { planSweeps } from './plan-sweeps.ts';
import { type Finding, toFindings } from './reconciliation-view.ts';
import { removeObjects } from './remove-objects.ts';

type Row = Selectable<Schema['reconciliations']>;

const pagesPerTurn = 50;
const examplesPerKind = 1000;
const keptPerProject = 5;
const plannedAtOnce = 100;
const retryMilliseconds = 60_000;

/**
 * Goes on with every reconciliation that is not done, in turns, and begins the ones that are due by themselves.
 * Each page is written down, so that a run that is cut short goes on where it was.
 * @throws Problem store_unavailable, and the signal's reason
 */
export async function runReconciliations(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'log' | 'now'>,
  signal: AbortSignal,
  count: Count,
): Promise<void> {
  await planSweeps(deps);
  await planReconciliations(deps);
  for (;;) {
    signal.throwIfAborted();
    const row = await findDue(deps);
    if (!row) return;
    await takeTurn(deps, row, signal, count);
  }
}

async function planReconciliations({ db, config, now }: Pick<Deps, 'config' | 'db' | 'now'>): Promise<void> {
  const at = new Date(now());
  const projects = await db.kysely
    .selectFrom('project_sweeps')
    .innerJoin('projects', 'projects.id', 'project_sweeps.project_id')
    .select('project_id')
    .where('next_reconcile_at', '<=', at)
    .orderBy('next_reconcile_at')
    .limit(plannedAtOnce)
    .execute();
  if (projects.length === 0) return;
  // In one order, as all who lock several projects.
  const ids = projects.map(({ project_id }) => project_id).sort();
  await db.kysely
    .insertInto('reconciliations')
    .values(
      ids.map((projectId) => ({
        project_id: projectId,
        id: uuidv7(),
        requested_by: null,
        dry_run: false,
        requested_at: at,
        next_turn_at: at,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await db.kysely
    .updateTable('project_sweeps')
    .set({ next_reconcile_at: new Date(now() + config.reconcileIntervalSeconds * 1000) })
    .where('project_id', 'in', ids)
    .execute();
}

async function findDue({ db, now }: Pick<Deps, 'db' | 'now'>): Promise<Row | undefined> {
  return db.kysely
    .selectFrom('reconciliations')
    .selectAll()
    .where('finished_at', 'is', null)
    .where('next_turn_at', '<=', new Date(now()))
    .orderBy('next_turn_at')
    .limit(1)
    .executeTakeFirst();
}

/** Up to 50 pages of one reconciliation; then the others have theirs. */
async function takeTurn(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'log' | 'now'>,
  row: Row,
  signal: AbortSignal,
  count: Count,
): Promise<void> {
  let current: Row | undefined = row;
  try {
    for (let pages = 0; pages < pagesPerTurn && current && !current.finished_at; pages++) {
      signal.throwIfAborted();
      const page = await comparePage(deps, current.project_id, current.compared_until);
      const keys = page.orphans.map(({ storeKey }) => storeKey);
      const gone = current.dry_run ? 0 : await removeObjects(deps, current.project_id, keys);
      count('orphan', gone);
      current = await writeDown(deps, current, page, gone);
    }
  } catch (error) {
    // One that fails must not keep the others waiting.
    if (!signal.aborted) await postpone(deps, row);
    throw error;
  }
  if (current?.finished_at) await finish(deps, current);
}

/** Undefined when another process has been faster, or the project is gone. */
async function writeDown(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  row: Row,
  page: Comparison,
  removedCount: number,
): Promise<Row | undefined> {
  const at = new Date(now());
  const bytes = (objects: { sizeBytes: number }[]) => objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return db.transaction(async (trx) => {
    if (!(await keepProject(trx, row.project_id))) return undefined;
    const updated = await trx
      .updateTable('reconciliations')
      .set((set) => ({
        started_at: row.started_at ?? at,
        finished_at: page.next === undefined ? at : null,
        compared_until: page.next ?? row.compared_until,
        next_turn_at: at,
        object_count: set('object_count', '+', page.objects.length),
        object_bytes: set('object_bytes', '+', bytes(page.objects)),
        file_count: set('file_count', '+', page.fileCount),
        pending_count: set('pending_count', '+', page.pendingCount),
        orphan_count: set('orphan_count', '+', page.orphans.length),
        orphan_bytes: set('orphan_bytes', '+', bytes(page.orphans)),
        removed_count: set('removed_count', '+', removedCount),
        missing_count: set('missing_count', '+', page.missing.length),
        changed_count: set('changed_count', '+', page.changed.length),
        foreign_count: set('foreign_count', '+', page.foreign.length),
      }))
      .where('project_id', '=', row.project_id)
      .where('id', '=', row.id)
      .where('finished_at', 'is', null)
      .where('compared_until', '=', row.compared_until)
      .returningAll()
      .executeTakeFirst();
    const examples = updated ? toExamples(row, toFindings(page)) : [];
    if (examples.length > 0) {
      await trx
        .insertInto('reconciliation_findings')
        .values(
          examples.map(({ kind, storeKey, facts }) => ({
            project_id: row.project_id,
            reconciliation_id: row.id,
            kind,
            store_key: storeKey,
            facts,
          })),
        )
        .execute();
    }
    return updated;
  });
}

/** As many as are still missing to the first thousand of each kind. */
function toExamples(row: Row, findings: Finding[]): Finding[] {
  const left = {
    orphan: examplesPerKind - row.orphan_count,
    missing: examplesPerKind - row.missing_count,
    changed: examplesPerKind - row.changed_count,
    foreign: examplesPerKind - row.foreign_count,
  };
  return findings.filter(({ kind }) => left[kind]-- > 0);
}

async function postpone({ db, now }: Pick<Deps, 'db' | 'now'>, { project_id, id }: Row): Promise<void> {
  await db.kysely
    .updateTable('reconciliations')
    .set({ next_turn_at: new Date(now() + retryMilliseconds) })
    .where('project_id', '=', project_id)
    .where('id', '=', id)
    .execute();
}

/** Tells the log what somebody should look at, and forgets the oldest ones of the project. */
async function finish({ db, log }: Pick<Deps, 'db' | 'log'>, row: Row): Promise<void> {
  const { project_id: projectId, id, missing_count: missing, changed_count: changed, foreign_count: foreign } = row;
  if (missing + changed > 0) {
    log.warn(
      { projectId, id, missing, changed, foreign },
      'A reconciliation found files whose objects are gone or changed',
    );
  }
  await db.transaction(async (trx) => {
    if (!(await keepProject(trx, projectId))) return;
    const old = await trx
      .selectFrom('reconciliations')
      .select('id')
      .where('project_id', '=', projectId)
      .where('finished_at', 'is not', null)
      .orderBy('id', 'desc')
      .offset(keptPerProject)
      .execute();
    if (old.length === 0) return;
    const ids = old.map((one) => one.id);
    await trx
      .deleteFrom('reconciliation_findings')
      .where('project_id', '=', projectId)
      .where('reconciliation_id', 'in', ids)
      .execute();
    await trx.deleteFrom('reconciliations').where('project_id', '=', projectId).where('id', 'in', ids).execute();
  });
}
