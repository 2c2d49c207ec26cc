import type { Kysely } from 'kysely';
import type { Schema } from '../db/schema.ts';

/**
 * Makes all changes to an account, its password, sessions and ways of signing in wait for each other until the
 * transaction ends. Must come first in the transaction (ARCHITECTURE.md). Signing in does not wait.
 */
export async function lockAccount(trx: Kysely<Schema>, userId: string): Promise<void> {
  await trx.selectFrom('users').select('id').where('id', '=', userId).forNoKeyUpdate().execute();
}

/**
 * Takes the lock of the folder tree, `lockTree`, of all projects in which somebody is a member, has keys or has invited
 * others, for a transaction that changes all of these at once. It comes after the lock of their account.
 */
export async function lockProjectsOf(trx: Kysely<Schema>, userId: string): Promise<void> {
  await trx
    .selectFrom('projects')
    .select('id')
    .where(({ or, eb, selectFrom }) =>
      or([
        eb('id', 'in', selectFrom('project_members').select('project_id').where('user_id', '=', userId)),
        eb('id', 'in', selectFrom('api_keys').select('project_id').where('created_by', '=', userId)),
        eb('id', 'in', selectFrom('invitations').select('project_id').where('created_by', '=', userId)),
      ]),
    )
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
}
