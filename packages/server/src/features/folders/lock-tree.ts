import type { Transaction } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import { Problem } from '../../problem.ts';
import type { OpenProject } from '../projects/open-project.ts';

/**
 * Makes everything that changes the tree of folders of one project wait for each other until the transaction ends: two
 * moves at once could otherwise make a cycle, and a folder could be made in one that is being deleted. Files that are
 * recorded or moved do not wait.
 * @throws Problem project_not_found
 */
export async function lockTree(trx: Transaction<Schema>, project: OpenProject): Promise<void> {
  const row = await trx
    .selectFrom('projects')
    .select('id')
    .where('id', '=', project.id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!row) throw new Problem('project_not_found');
}
