import type { Transaction } from 'kysely';
import type { OpenProject } from '../access/open-project.ts';
import type { Schema } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import { Problem } from '../problem.ts';

/** Facts that the lock reads along the way. */
export interface LockedTree {
  /** Anything deleted at or before this can no longer be restored. */
  trashEmptiedAt: Date | null;
}

/**
 * Serializes everything that changes one project's folder tree, takes something out of its trash, or changes many of
 * its files or keys, until the transaction ends. Without it, two moves at once could make a cycle, a folder could be
 * created in one that is being deleted, something could be restored while its object is being removed, and two changes
 * to the same rows could wait for each other for ever. Recording and moving files does not wait.
 * @returns undefined if the project is gone
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

/** Carries the answer of a dry run out of its transaction, which it rolls back. */
class DryRun<T> extends Error {
  readonly answer: T;

  constructor(answer: T) {
    super('A dry run is rolled back');
    this.answer = answer;
  }
}

/**
 * Runs a change of the tree in a transaction of its own, under the tree lock. A dry run executes the same code and
 * rolls it back.
 * @throws Problem project_not_found
 */
export async function changeTree<T>(
  { db }: Pick<Deps, 'db'>,
  project: OpenProject<'files:write' | 'files:delete' | 'keys:manage'>,
  change: (trx: Transaction<Schema>, tree: LockedTree) => Promise<T>,
  { dryRun = false } = {},
): Promise<T> {
  try {
    return await db.transactionOf(project.id, async (trx) => {
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
