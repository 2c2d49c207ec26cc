import type { Transaction } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { Problem } from '../problem.ts';
import { type Right, requireRole } from './open-project.ts';

/**
 * Keeps a user a member with this right until the transaction ends, for whatever is created on the strength of it.
 * Lock the user and the project first.
 * @throws Problem project_not_found, role_missing
 */
export async function holdMember(
  trx: Transaction<Schema>,
  userId: string,
  projectId: string,
  right: Right,
): Promise<void> {
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
