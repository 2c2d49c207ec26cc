import { createHash } from 'node:crypto';
import type { AcceptedInvitation, AcceptInvitationRequest } from '@cadiz/contract';
import type { z } from 'zod';
import type { Database } from '../../db/open.ts';
import type { Deps, SessionCaller } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { recordEvent } from '../audit/record-event.ts';
import { keepProject, keepUser } from '../keep-rows.ts';
import { isAcceptable } from './acceptable.ts';

/** SHA-256: a token has 256 random bits, which cannot be searched. */
export function hashInvitation(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Whether an invitation can be accepted by the owner of this e-mail address. */
export async function isInvited({ kysely }: Database, token: string, email: string, now: number): Promise<boolean> {
  const row = await kysely
    .selectFrom('invitations')
    .select('id')
    .where('token_hash', '=', hashInvitation(token))
    .where('email', '=', email.toLowerCase())
    .where(isAcceptable(now))
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Makes the caller a member by an invitation to their e-mail address, and uses it up. Who is a member already keeps
 * their role. Absent, used, expired and somebody else's are one answer, and so are those of who may invite no more.
 * @throws Problem invitation_not_found
 */
export async function acceptInvitation(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  caller: SessionCaller,
  { token }: z.output<typeof AcceptInvitationRequest>,
): Promise<z.output<typeof AcceptedInvitation>> {
  const { userId } = caller;
  return db.transaction(async (trx) => {
    const found = await trx
      .selectFrom('invitations')
      .select('project_id')
      .where('token_hash', '=', hashInvitation(token))
      .executeTakeFirst();
    if (!found) throw new Problem('invitation_not_found');
    await keepUser(trx, userId);
    await keepProject(trx, found.project_id);
    // Deleting it is what uses it up: of two at the same moment, one finds nothing.
    const invitation = await trx
      .deleteFrom('invitations')
      .where('token_hash', '=', hashInvitation(token))
      .where(isAcceptable(now()))
      .where('email', '=', (query) => query.selectFrom('users').select('email').where('id', '=', userId))
      .returning(['id', 'project_id', 'role'])
      .executeTakeFirst();
    if (!invitation) throw new Problem('invitation_not_found');
    const { id, project_id, role } = invitation;
    await trx
      .insertInto('project_members')
      .values({ project_id, user_id: userId, role })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    const member = await trx
      .selectFrom('project_members')
      .select('role')
      .where('project_id', '=', project_id)
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow();
    const subject = { userId, role: member.role, invitationId: id };
    await recordEvent(trx, now(), { type: 'member.added', projectId: project_id, by: caller, subject });
    return { projectId: project_id, role: member.role };
  });
}
