import type { Transaction } from 'kysely';
import type { SessionCaller } from '../../access/caller.ts';
import { holdMember } from '../../access/hold-member.ts';
import type { Right } from '../../access/open-project.ts';
import { keepFolder, keepProject } from '../../db/keep-rows.ts';
import type { Schema } from '../../db/schema.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { whereActive } from './active-key.ts';

/**
 * Locks everything that entitles the caller to create a key until the transaction ends: their membership and role in
 * the project, since a key created while its maker is being removed would otherwise revive with their next invitation,
 * and the number of their keys. Call `openProject` first; it may have trusted a cache. Rows are locked in the order of
 * locks; if a row is gone, the key's foreign keys fail.
 * @param tied what the key will be tied to; null if it is untied
 * @throws Problem project_not_found, role_missing, too_many_api_keys
 */
export async function holdMaker(
  { config, now }: Pick<Deps, 'config' | 'now'>,
  trx: Transaction<Schema>,
  { userId }: SessionCaller,
  { projectId, folderId }: { projectId: string | null; folderId: string | null },
  right: Right,
): Promise<void> {
  // If two keys are created at once, the second waits and counts the first.
  await trx.selectFrom('users').select('id').where('id', '=', userId).forNoKeyUpdate().execute();
  if (projectId !== null) {
    await keepProject(trx, projectId);
    await holdMember(trx, userId, projectId, right);
    if (folderId !== null) await keepFolder(trx, projectId, folderId);
  }
  const { count } = await trx
    .selectFrom('api_keys')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('created_by', '=', userId)
    .where(whereActive(now()))
    .executeTakeFirstOrThrow();
  if (count >= config.apiKeysPerAccount) {
    throw new Problem(
      'too_many_api_keys',
      `You have ${count} API keys; the maximum for an account is ${config.apiKeysPerAccount}.`,
    );
  }
}
