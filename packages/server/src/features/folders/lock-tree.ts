import type { Transaction } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { OpenProject } from '../projects/open-project.ts';

/** What the lock reads along. */
export interface LockedTree {
  /** Whatever was deleted until then can no longer be restored. */
  trashEmptiedAt: Date | null;
}

/**
 * Makes everything that changes the tree of folders of one project, or takes something out of its trash, wait for each
 * other until the transaction ends: two moves at once could otherwise make a cycle, a folder could be made in one that is
 * being deleted, and something be restored whose object is being removed. Files that are recorded or moved do not wait.
 * @throws Problem project_not_found
 */
export async function lockTree(trx: Transaction<Schema>, project: OpenProject): Promise<LockedTree> {
  const row = await trx
    .selectFrom('projects')
    .select('trash_emptied_at')
    .where('id', '=', project.id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!row) throw new Problem('project_not_found');
  return { trashEmptiedAt: row.trash_emptied_at };
}

/** Carries the answer of a dry run out of its transaction, which is rolled back by it. */
class DryRun<T> extends Error {
  readonly answer: T;

  constructor(answer: T) {
    super('A dry run is rolled back');
    this.answer = answer;
  }
}

/**
 * Runs a change of the tree in a transaction of its own, under the lock. A dry run runs the very same, and undoes it.
 * @throws Problem project_not_found
 */
export async function changeTree<T>(
  { db }: Deps,
  project: OpenProject,
  change: (trx: Transaction<Schema>, tree: LockedTree) => Promise<T>,
  { dryRun = false } = {},
): Promise<T> {
  try {
    return await db.kysely.transaction().execute(async (trx) => {
      const answer = await change(trx, await lockTree(trx, project));
      if (dryRun) throw new DryRun(answer);
      return answer;
    });
  } catch (error) {
    if (error instanceof DryRun) return error.answer;
    throw error;
  }
}
