import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { listInvitations } from './list-invitations.ts';

/** One of the invitations that can still be accepted. */
export async function getInvitation(
  deps: Pick<Deps, 'db' | 'access' | 'now'>,
  caller: SessionCaller,
  { projectId, id }: Input<'getInvitation'>,
): Promise<Answer<'getInvitation'>> {
  const { invitations } = await listInvitations(deps, caller, { projectId });
  const invitation = invitations.find((one) => one.id === id);
  if (!invitation) throw new Problem('invitation_not_found');
  return invitation;
}
