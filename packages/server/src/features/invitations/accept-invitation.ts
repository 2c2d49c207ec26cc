import type { AcceptedInvitation, AcceptInvitationRequest } from '@cadiz/contract';
import type { z } from 'zod';
import type { SessionCaller } from '../../access/caller.ts';
import { requireProvenEmail } from '../../access/require-proven-email.ts';
import { joinByInvitation, takeInvitation } from '../../access/use-invitation.ts';
import { keepUser } from '../../db/keep-rows.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';

/**
 * Makes the caller a member through an invitation to their e-mail address, and consumes it. An existing member keeps
 * their role. Absent, used, expired and other people's invitations get the same answer, and so do those whose inviter
 * may no longer invite.
 */
export async function acceptInvitation(
  deps: Pick<Deps, 'db' | 'now' | 'mail'>,
  caller: SessionCaller,
  { token }: z.output<typeof AcceptInvitationRequest>,
): Promise<z.output<typeof AcceptedInvitation>> {
  await requireProvenEmail(deps, caller);
  const at = deps.now();
  return deps.db.transaction(async (trx) => {
    await keepUser(trx, caller.userId);
    const user = await trx.selectFrom('users').select('email').where('id', '=', caller.userId).executeTakeFirst();
    if (!user) throw new Problem('session_required');
    const invitation = await takeInvitation(trx, at, { token, email: user.email });
    return { projectId: invitation.projectId, role: await joinByInvitation(trx, at, caller, invitation) };
  });
}
