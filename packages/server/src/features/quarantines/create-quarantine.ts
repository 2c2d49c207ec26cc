import type { Input } from '@cadiz/contract';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { SessionCaller } from '../../access/caller.ts';
import { openProject } from '../../access/open-project.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { changeTree } from '../../tree/lock-tree.ts';
import { advanceNow, enqueueQuarantine } from './advance-quarantine.ts';
import { idOfMoment } from './id-of-moment.ts';
import { type QuarantineView, toQuarantineView } from './quarantine-view.ts';
import { requireKeyOfProject } from './require-key-of-project.ts';

/**
 * Hides what a key has recorded in a project since a given moment: it is not listed, not served and not restorable
 * until it is released or trashed. Files already in the trash stay there. Many files take a while (decision 0032). A
 * dry run counts them. The key itself is not revoked.
 */
export async function createQuarantine(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: SessionCaller,
  { projectId, apiKeyId, since, dryRun }: Input<'createQuarantine'>,
): Promise<QuarantineView> {
  const project = await openProject(deps, caller, projectId, 'keys:manage');
  const start = new Date(since);
  await requireKeyOfProject(deps, project, apiKeyId, idOfMoment(start.getTime()));
  const { rows } = await sql<{ files: number; bytes: number }>`
    select count(*) as files, coalesce(sum(file_size), 0)::bigint as bytes from files
    where project_id = ${project.id} and id > ${idOfMoment(start.getTime())}
      and created_by_key = ${apiKeyId} and trash_id is null`.execute(deps.db.kysely);
  const counts = rows[0] ?? { files: 0, bytes: 0 };
  const at = deps.now();
  if (dryRun) {
    const planned = { id: null, state: 'planned', createdAt: null, endedAt: null } as const;
    return { ...planned, projectId: project.id, apiKeyId, since: start.toISOString(), ...counts };
  }
  const id = uuidv7({ msecs: at });
  const row = await changeTree(deps, project, async (trx) => {
    const subject = { quarantineId: id, apiKeyId, since: start.toISOString(), ...counts };
    await recordEvent(trx, at, { type: 'quarantine.created', projectId: project.id, by: caller, subject });
    const made = await trx
      .insertInto('quarantines')
      .values({
        project_id: project.id,
        id,
        api_key_id: apiKeyId,
        created_by: caller.userId,
        since: start,
        created_at: new Date(at),
        state: 'marking',
        reached: idOfMoment(start.getTime()),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await enqueueQuarantine(trx, made);
    return made;
  });
  return toQuarantineView(await advanceNow(deps, row));
}
