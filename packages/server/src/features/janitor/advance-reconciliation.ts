import type { Selectable } from 'kysely';
import { keepProject } from '../../db/keep-rows.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import type { Count } from '../../telemetry/observed.ts';
import type { Outcome, Subject } from '../../work/work.ts';
import { type Comparison, comparePage } from './compare-page.ts';
import { type Finding, toFindings } from './reconciliation-view.ts';
import { removeObjects } from './remove-objects.ts';
import { sweepVariants } from './sweep-variants.ts';

type Row = Selectable<Schema['reconciliations']>;

/** The kind of work that advances a reconciliation. The subject is its id. */
export const reconciliationWork = 'reconciliation';

const pagesPerTurn = 50;
const examplesPerKind = 1000;
const keptPerProject = 5;

/**
 * Advances one reconciliation by up to 50 pages; then others have their turn. The progress is stored after each page,
 * so that an interrupted turn resumes where it was.
 * @throws Problem store_unavailable, and the signal's reason
 */
export async function advanceReconciliation(
  deps: Pick<Deps, 'config' | 'db' | 'objects' | 'log' | 'now'>,
  subject: Subject,
  signal: AbortSignal,
  count: Count,
): Promise<Outcome> {
  let current = await findUnfinished(deps, subject);
  // Before it counts as started: what is interrupted here is begun anew, which nobody would do once it has finished.
  if (current && !current.started_at) count('variant', await sweepVariants(deps, current, signal));
  for (let pages = 0; pages < pagesPerTurn && current && !current.finished_at; pages++) {
    signal.throwIfAborted();
    const page = await comparePage(deps, current.project_id, current.compared_until);
    const keys = page.orphans.map(({ storeKey }) => storeKey);
    const gone = current.dry_run ? 0 : await removeObjects(deps, current.project_id, keys);
    count('orphan', gone);
    current = await writeDown(deps, current, page, gone);
  }
  if (current?.finished_at) await finish(deps, current);
  // If another process was faster, there may still be more to do.
  return (await findUnfinished(deps, subject)) ? { again: 0 } : undefined;
}

function findUnfinished({ db }: Pick<Deps, 'db'>, { projectId, id }: Subject): Promise<Row | undefined> {
  return db.kysely
    .selectFrom('reconciliations')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .where('finished_at', 'is', null)
    .executeTakeFirst();
}

/** Undefined if another process was faster, or the project is gone. */
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

/** Logs findings that need attention, and removes the oldest reconciliations of the project. */
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
