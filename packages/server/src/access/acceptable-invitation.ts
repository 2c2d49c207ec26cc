import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Schema } from '../db/schema.ts';

/**
 * The condition on invitations that can be accepted: not expired, and created by someone who is still an owner of the
 * project and not disabled. Otherwise an owner about to be removed could leave themselves a way back in.
 */
export function whereAcceptable(
  now: number,
): (invitation: ExpressionBuilder<Schema, 'invitations'>) => Expression<SqlBool> {
  return (invitation) =>
    invitation.and([
      invitation('invitations.expires_at', '>', new Date(now)),
      invitation.exists(
        invitation
          .selectFrom('project_members')
          .innerJoin('users', 'users.id', 'project_members.user_id')
          .select('project_members.role')
          .whereRef('project_members.project_id', '=', 'invitations.project_id')
          .whereRef('project_members.user_id', '=', 'invitations.created_by')
          .where('project_members.role', '=', 'owner')
          .where('users.disabled_at', 'is', null),
      ),
    ]);
}
