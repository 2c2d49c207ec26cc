import type { Transaction } from 'kysely';
import type { OpenProject } from '../access/open-project.ts';
import type { Schema } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';

/** What the lock reads along. */
export interface LockedTree {
  /** Whatever was deleted until then can no longer be restored. */
  trashEmptiedAt: Date | null;
}

/**
 * Makes everything that changes the tree of folders of one project, takes something out of its trash, or changes many of its
 * files or keys, wait for each other until the transaction ends: two moves at once could otherwise make a cycle, a folder
 * could be made in one that is being deleted, something be restored whose object is being removed, and two that change
 * the same rows wait for each other for ever. Files that are recorded or moved do not wait.
 * @returns undefined when the project has gone
 */
export async function lockTree(trx: Transaction<Schema>, projectId: string): Promise<LockedTree | undefined> {
  const row = await trx
    .selectFrom('projects')
    .select('trash_emptied_at')
    .where('id', '=', projectId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row && { trashEmptiedAt: row.trash_emptied_at };
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
  { db }: Pick<Deps, 'db'>,
  project: OpenProject<'files:write' | 'files:delete' | 'keys:manage'>,
  change: (trx: Transaction<Schema>, tree: LockedTree) => Promise<T>,
  { dryRun = false } = {},
): Promise<T> {
  try {
    return await db.transaction(async (trx) => {
      const tree = await lockTree(trx, project.id);
      if (!tree) throw new Problem('project_not_found');
      const answer = await change(trx, tree);
      if (dryRun) throw new DryRun(answer);
      return answer;
    });
  } catch (error) {
    if (error instanceof DryRun) return error.answer;
    throw error;
  }
}
