import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Schema } from '../db/schema.ts';

/**
 * Invitations that can be accepted: in time, and made by somebody who still is an owner of the project and not disabled.
 * Otherwise who is about to be taken out could leave a way in for themselves.
 */
export function isAcceptable(
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
