import { randomBytes } from 'node:crypto';
import { type CreatedInvitation, type Input, maxInvitations } from '@cadiz/contract';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { whereAcceptable } from '../../access/acceptable-invitation.ts';
import type { SessionCaller } from '../../access/caller.ts';
import { lockMembers } from '../../access/lock-members.ts';
import { openProject } from '../../access/open-project.ts';
import { requireProvenEmail } from '../../access/require-proven-email.ts';
import { hashInvitation } from '../../access/use-invitation.ts';
import { keepUser } from '../../db/keep-rows.ts';
import type { Deps } from '../../deps.ts';
import { recordEvent } from '../../events/record-event.ts';
import { Problem } from '../../problem.ts';

const lifetimeMilliseconds = 7 * 86_400_000;

/**
 * Invites the owner of an e-mail address into a project. The answer shows the invitation's address once, and only its
 * hash is kept; the token is in the fragment, which browsers send to no server and in no Referer.
 */
export async function createInvitation(
  deps: Pick<Deps, 'config' | 'db' | 'access' | 'mail' | 'now'>,
  caller: SessionCaller,
  { projectId, email, role }: Input<'createInvitation'>,
): Promise<z.output<typeof CreatedInvitation>> {
  const project = await openProject(deps, caller, projectId, 'project:manage');
  await requireProvenEmail(deps, caller);
  const token = randomBytes(32).toString('base64url');
  const id = uuidv7();
  const createdAt = deps.now();
  const expiresAt = new Date(createdAt + lifetimeMilliseconds);
  await deps.db.transaction(async (trx) => {
    await keepUser(trx, caller.userId);
    // Also makes another invitation wait, so that two at once do not both find room for the last one.
    await lockMembers(trx, project, caller, caller.userId, 'owner');
    const { count } = await trx
      .selectFrom('invitations')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('project_id', '=', project.id)
      .where(whereAcceptable(createdAt))
      .executeTakeFirstOrThrow();
    if (count >= maxInvitations) throw new Problem('too_many_invitations');
    await trx
      .insertInto('invitations')
      .values({
        project_id: project.id,
        id,
        email: email.toLowerCase(),
        role,
        token_hash: hashInvitation(token),
        created_by: caller.userId,
        created_at: new Date(createdAt),
        expires_at: expiresAt,
      })
      .execute();
    const subject = { invitationId: id, email: email.toLowerCase(), role };
    await recordEvent(trx, createdAt, { type: 'invitation.created', projectId: project.id, by: caller, subject });
  });
  return { id, url: `${deps.config.publicUrl}/invitation#${token}`, expiresAt: expiresAt.toISOString() };
}
