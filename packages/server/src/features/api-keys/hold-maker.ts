import type { Transaction } from 'kysely';
import type { Schema } from '../../db/schema.ts';
import type { SessionCaller } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { type Right, requireRole } from '../projects/open-project.ts';

/**
 * Keeps the caller's membership in a project as it is until the transaction ends, and checks their role once more: a key made while its
 * maker is being removed would otherwise live again with their next invitation. `openProject` comes first, and may have
 * believed a cache. Project, user and member are locked in the order in which their deletions lock them.
 * @throws Problem project_not_found, role_missing
 */
export async function holdMaker(
  trx: Transaction<Schema>,
  { userId }: SessionCaller,
  projectId: string,
  right: Right,
): Promise<void> {
  await trx.selectFrom('projects').select('id').where('id', '=', projectId).forKeyShare().execute();
  await trx.selectFrom('users').select('id').where('id', '=', userId).forKeyShare().execute();
  const member = await trx
    .selectFrom('project_members')
    .select('role')
    .where('project_id', '=', projectId)
    .where('user_id', '=', userId)
    .forShare()
    .executeTakeFirst();
  if (!member) throw new Problem('project_not_found');
  requireRole(member.role, right);
}
