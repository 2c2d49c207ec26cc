import { createHash } from 'node:crypto';
import type { Role } from '@cadiz/contract';
import { sql, type Transaction } from 'kysely';
import { keepProject } from '../db/keep-rows.ts';
import type { Schema } from '../db/schema.ts';
import { recordEvent } from '../events/record-event.ts';
import { Problem } from '../problem.ts';
import { whereAcceptable } from './acceptable-invitation.ts';
import type { SessionCaller } from './caller.ts';

/** An invitation that a transaction has consumed and has yet to turn into a membership. */
export interface UsedInvitation {
  id: string;
  projectId: string;
  role: Role;
}

/** SHA-256: a token has 256 random bits, which cannot be searched. */
export function hashInvitation(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * Consumes an invitation to an e-mail address. Absent, used, withdrawn, expired and other people's invitations get the
 * same answer, and so do those whose inviter may no longer invite.
 * @param at Unix milliseconds
 * @throws Problem invitation_not_found
 */
export async function takeInvitation(
  trx: Transaction<Schema>,
  at: number,
  { token, email }: { token: string; email: string },
): Promise<UsedInvitation> {
  const tokenHash = hashInvitation(token);
  const found = await trx
    .selectFrom('invitations')
    .select('project_id')
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst();
  if (!found) throw new Problem('invitation_not_found');
  await keepProject(trx, found.project_id);
  // The deletion consumes it: of two requests at the same moment, one finds nothing.
  const row = await trx
    .deleteFrom('invitations')
    .where('token_hash', '=', tokenHash)
    .where('email', '=', email.toLowerCase())
    .where(whereAcceptable(at))
    .returning(['id', 'project_id', 'role'])
    .executeTakeFirst();
  if (!row) throw new Problem('invitation_not_found');
  return { id: row.id, projectId: row.project_id, role: row.role };
}

/**
 * Makes the caller a member through a consumed invitation. An existing member keeps their role, which is no event.
 * @param at Unix milliseconds
 * @returns their role
 */
export async function joinByInvitation(
  trx: Transaction<Schema>,
  at: number,
  caller: SessionCaller,
  { id, projectId, role }: UsedInvitation,
): Promise<Role> {
  const { userId } = caller;
  const member = await trx
    .insertInto('project_members')
    .values({ project_id: projectId, user_id: userId, role })
    // Setting it to itself returns the row that is there, and locks it.
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'user_id']).doUpdateSet(({ ref }) => ({ role: ref('project_members.role') })),
    )
    // `xmax` is whoever has locked the row: nobody, if it was inserted by this statement.
    .returning(['role', sql<boolean>`xmax = 0`.as('isNew')])
    .executeTakeFirstOrThrow();
  if (member.isNew) {
    const subject = { userId, role, invitationId: id };
    await recordEvent(trx, at, { type: 'member.added', projectId, by: caller, subject });
  }
  return member.role;
}
