import { useMutation, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { UserPlus } from 'lucide-react';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Select } from '../../components/field.tsx';
import { Avatar, Badge, Moment, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { toastError } from '../../components/toast.tsx';
import { membersQuery, queryClient, type Role, useRole, useUser } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';
import { Invite } from './invite.tsx';
import { type Member, RemoveMember } from './remove-member.tsx';

export const roles: readonly Role[] = ['owner', 'editor', 'viewer'];
export const roleOptions = roles.map((value) => ({ value, label: text.members.roles[value] }));

/** Who works in a project, and who is invited to. */
export function Members() {
  const { projectId = '' } = useParams({ strict: false });
  const isOwner = useRole(projectId) === 'owner';
  const user = useUser();
  const query = useQuery(membersQuery(projectId));
  const [isInviting, setInviting] = useState(false);
  const { members } = text;
  const reload = () => queryClient.invalidateQueries({ queryKey: ['members', projectId] });
  const change = useMutation({
    mutationFn: ({ userId, role }: { userId: string; role: Role }) => call('changeMember', { projectId, userId, role }),
    onError: toastError,
    onSettled: reload,
  });
  const [leaving, setLeaving] = useState<Member>();
  return (
    <Page
      title={text.nav.members}
      lead={members.lead}
      actions={
        isOwner && (
          <Button look="main" icon={UserPlus} onClick={() => setInviting(true)}>
            {members.invite}
          </Button>
        )
      }
    >
      <ProblemNote error={query.error} />
      {query.isPending && <Skeleton />}
      <ul className="panel frame people">
        {query.data?.map(({ userId, name, email, role }) => (
          <li key={userId} className="line">
            <Avatar name={name} size="l" />
            <span className="grow">
              <b className="med clip">
                <bdi>{name}</bdi> {userId === user.id && <span className="quiet">({text.common.you})</span>}
              </b>
              <span className="cap quiet clip">{email}</span>
            </span>
            {isOwner ? (
              <>
                <Select
                  isLabelHidden
                  label={members.roleOf(name)}
                  value={role}
                  options={roleOptions}
                  onChange={(next) => change.mutate({ userId, role: next })}
                />
                <Button
                  look="ghost"
                  className="bad"
                  onClick={() => setLeaving({ userId, name })}
                  aria-label={userId === user.id ? members.leave : members.removeTitle(name)}
                >
                  {userId === user.id ? members.leave : text.common.remove}
                </Button>
              </>
            ) : (
              <Badge>{members.roles[role]}</Badge>
            )}
          </li>
        ))}
      </ul>
      <RemoveMember projectId={projectId} member={leaving} onClose={() => setLeaving(undefined)} />
      {isOwner && <Invitations projectId={projectId} />}
      {isOwner && <Invite open={isInviting} projectId={projectId} onClose={() => setInviting(false)} />}
    </Page>
  );
}

function Invitations({ projectId }: { projectId: string }) {
  const { members } = text;
  const query = useQuery({
    queryKey: ['invitations', projectId],
    queryFn: async () => (await call('listInvitations', { projectId })).invitations,
  });
  const withdraw = useMutation({
    mutationFn: (id: string) => call('removeInvitation', { projectId, id }),
    onError: toastError,
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['invitations', projectId] }),
  });
  if (!query.data || query.data.length === 0) return <ProblemNote error={query.error} />;
  return (
    <section className="sect">
      <header>
        <h2>{members.invitations}</h2>
      </header>
      <ul className="panel frame people">
        {query.data.map(({ id, email, role, expiresAt }) => (
          <li key={id} className="line">
            <span className="grow">
              <b className="med clip">{email}</b>
              <span className="cap quiet">
                {members.roles[role]} · {members.until} <Moment at={expiresAt} />
              </span>
            </span>
            <Button
              look="ghost"
              className="bad"
              onClick={() => withdraw.mutate(id)}
              aria-label={members.withdrawFrom(email)}
            >
              {members.withdraw}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
