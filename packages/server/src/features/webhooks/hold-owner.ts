import type { Transaction } from 'kysely';
import type { SessionCaller } from '../../access/caller.ts';
import { holdMember } from '../../access/hold-member.ts';
import type { OpenProject } from '../../access/open-project.ts';
import { keepProject, keepUser } from '../../db/keep-rows.ts';
import type { Schema } from '../../db/schema.ts';

/**
 * Keeps the caller an owner of the project until the transaction ends, since what it writes outlives their membership: a
 * secret, or where events are sent to. Finding the addresses of a host takes seconds, in which they may have been removed.
 * @throws Problem project_not_found, role_missing
 */
export async function holdOwner(
  trx: Transaction<Schema>,
  { userId }: SessionCaller,
  project: OpenProject<'project:manage'>,
): Promise<void> {
  await keepUser(trx, userId);
  await keepProject(trx, project.id);
  await holdMember(trx, userId, project.id, 'project:manage');
}
