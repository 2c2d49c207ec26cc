import type { Kysely, SelectQueryBuilder } from 'kysely';
import type { SessionCaller } from '../../access/caller.ts';
import type { Schema } from '../../db/schema.ts';

/** The keys that a user can see and revoke: their own, and those of the projects they own or edit. */
export function selectManageableKeys(
  kysely: Kysely<Schema>,
  caller: SessionCaller,
): SelectQueryBuilder<Schema, 'api_keys', object> {
  return kysely
    .selectFrom('api_keys')
    .where((where) =>
      where.or([
        where('created_by', '=', caller.userId),
        where(
          'project_id',
          'in',
          where
            .selectFrom('project_members')
            .select('project_id')
            .where('user_id', '=', caller.userId)
            .where('role', 'in', ['owner', 'editor']),
        ),
      ]),
    );
}
