import { z } from 'zod';
import { email } from './accounts.ts';
import { timestampOut, uuid, uuidOut } from './fields.ts';
import { roles } from './projects.ts';

const role = z.enum(roles, { error: `must be one of ${roles.join(', ')}` });

export const Member = z.object({ userId: uuidOut, name: z.string(), email: z.string(), role: z.enum(roles) });
export const MemberList = z.object({ members: z.array(Member) });
export const MemberParams = z.object({ projectId: uuid, userId: uuid });
export const ChangeMemberRequest = z.object({ role });
export const RemovedMember = z.object({ userId: uuidOut, removed: z.literal(true) });

/** How many invitations of a project can be open at once. */
export const maxInvitations = 1000;

export const CreateInvitationRequest = z.object({ email, role });

/** The only answer that ever contains the URL that accepts the invitation. */
export const CreatedInvitation = z.object({ id: uuidOut, url: z.url(), expiresAt: timestampOut });
export const Invitation = z.object({
  id: uuidOut,
  email: z.string(),
  role: z.enum(roles),
  createdAt: timestampOut,
  expiresAt: timestampOut,
});
export const InvitationList = z.object({ invitations: z.array(Invitation) });
export const InvitationParams = z.object({ projectId: uuid, id: uuid });
export const RemovedInvitation = z.object({ id: uuidOut, removed: z.literal(true) });

/** As in the fragment of the invitation's URL. */
export const AcceptInvitationRequest = z.object({
  token: z.string().regex(/^[\w-]{43}$/, { error: 'must be the 43-character token of an invitation' }),
});
export const AcceptedInvitation = z.object({ projectId: uuidOut, role: z.enum(roles) });
