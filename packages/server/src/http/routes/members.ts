import {
  AcceptInvitationRequest,
  ChangeMemberRequest,
  CreateInvitationRequest,
  InvitationParams,
  MemberParams,
  ProjectParams,
} from '@cadiz/contract';
import { acceptInvitation } from '../../features/invitations/accept-invitation.ts';
import { createInvitation } from '../../features/invitations/create-invitation.ts';
import { listInvitations } from '../../features/invitations/list-invitations.ts';
import { removeInvitation } from '../../features/invitations/remove-invitation.ts';
import { changeMember } from '../../features/members/change-member.ts';
import { listMembers } from '../../features/members/list-members.ts';
import { removeMember } from '../../features/members/remove-member.ts';
import { requireSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readParams } from '../input.ts';

export const listMembersRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  return listMembers(deps, caller, readParams(exchange, ProjectParams).projectId);
};

export const changeMemberRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { projectId, userId } = readParams(exchange, MemberParams);
  return changeMember(deps, caller, projectId, userId, await readBody(exchange, ChangeMemberRequest));
};

export const removeMemberRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { projectId, userId } = readParams(exchange, MemberParams);
  return removeMember(deps, caller, projectId, userId);
};

export const createInvitationRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { projectId } = readParams(exchange, ProjectParams);
  return createInvitation(deps, caller, projectId, await readBody(exchange, CreateInvitationRequest));
};

export const listInvitationsRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  return listInvitations(deps, caller, readParams(exchange, ProjectParams).projectId);
};

export const removeInvitationRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { projectId, id } = readParams(exchange, InvitationParams);
  return removeInvitation(deps, caller, projectId, id);
};

export const acceptInvitationRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  return acceptInvitation(deps, caller, await readBody(exchange, AcceptInvitationRequest));
};
