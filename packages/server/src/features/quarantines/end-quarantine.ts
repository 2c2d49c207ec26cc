import type { Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import { firstId } from '../../db/ids.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';
import { advanceNow, enqueueQuarantine } from './advance-quarantine.ts';
import { type QuarantineView, toQuarantineView } from './quarantine-view.ts';

const outcomes = {
  release: {
    right: 'keys:manage',
    from: ['marking', 'held'],
    working: 'releasing',
    done: 'released',
    event: 'quarantine.released',
  },
  trash: { right: 'files:delete', from: ['held'], working: 'trashing', done: 'trashed', event: 'quarantine.trashed' },
} as const;

/**
 * Releases the files in a quarantine, each to its folder, or to the root if the folder is gone. Releasing it again
 * changes nothing; it can no longer be trashed. A dry run answers what is in it.
 */
export function releaseQuarantine(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: SessionCaller,
  request: Input<'releaseQuarantine'>,
): Promise<QuarantineView> {
  return endQuarantine(deps, caller, request, 'release');
}

/**
 * Moves the files in a quarantine to the trash. Trashing it again changes nothing; it cannot be released any more. A
 * dry run answers what is in it.
 */
export function trashQuarantine(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: SessionCaller,
  request: Input<'trashQuarantine'>,
): Promise<QuarantineView> {
  return endQuarantine(deps, caller, request, 'trash');
}

async function endQuarantine(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: SessionCaller,
  { projectId, id, dryRun }: Input<'releaseQuarantine'>,
  how: keyof typeof outcomes,
): Promise<QuarantineView> {
  const { right, from, working, done, event } = outcomes[how];
  const project = await openProject(deps, caller, projectId, right);
  const row = await deps.db.transaction(async (trx) => {
    const before = await trx
      .selectFrom('quarantines')
      .selectAll()
      .where('project_id', '=', project.id)
      .where('id', '=', id)
      .forUpdate()
      .executeTakeFirst();
    if (!before) throw new Problem('quarantine_not_found');
    if (before.state === working || before.state === done) return before;
    if (!from.some((state) => state === before.state)) throw new Problem('quarantine_not_held');
    if (dryRun) return before;
    const at = deps.now();
    const subject = { quarantineId: id, files: before.file_count, bytes: before.total_bytes };
    await recordEvent(trx, at, { type: event, projectId: project.id, by: caller, subject });
    const ended = await trx
      .updateTable('quarantines')
      .set({ state: working, reached: firstId, ended_by: caller.userId, ended_at: new Date(at) })
      .where('project_id', '=', project.id)
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    await enqueueQuarantine(trx, ended);
    return ended;
  });
  return toQuarantineView(await advanceNow(deps, row));
}
