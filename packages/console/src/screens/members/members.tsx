import { useMutation, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { UserPlus } from 'lucide-react';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Moment, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { toastError } from '../../components/toast.tsx';
import { membersQuery, queryClient, useRole } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { useQueue } from '../../use-queue.ts';
import { Page } from '../page.tsx';
import { InvitationLink, Invite } from './invite.tsx';
import { MemberRow } from './member-row.tsx';
import { type Member, RemoveMember } from './remove-member.tsx';
import './members.css';

/** Who works in a project, and who is invited to. */
export function Members() {
  const { projectId = '' } = useParams({ strict: false });
  const isOwner = useRole(projectId) === 'owner';
  const query = useQuery(membersQuery(projectId));
  const owners = query.data?.filter(({ role }) => role === 'owner').length;
  const [isInviting, setInviting] = useState(false);
  const links = useQueue<string>();
  const { members } = text;
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
      <ProblemNote error={query.error} action={<Button onClick={() => query.refetch()}>{text.common.retry}</Button>} />
      {query.isPending && <Skeleton />}
      <ul className="panel frame people members" hidden={!query.data}>
        {query.data?.map((member) => (
          <MemberRow
            key={member.userId}
            projectId={projectId}
            member={member}
            isOwner={isOwner}
            isOnlyOwner={member.role === 'owner' && owners === 1}
            onRemove={() => setLeaving(member)}
          />
        ))}
      </ul>
      {leaving && <RemoveMember projectId={projectId} member={leaving} onClose={() => setLeaving(undefined)} />}
      {isOwner && <Invitations projectId={projectId} />}
      {/* Somebody who has just lost the role of an owner is still told why the invitation was refused. */}
      {isInviting && <Invite projectId={projectId} onClose={() => setInviting(false)} onCreated={links.add} />}
      {links.first && !isInviting && <InvitationLink key={links.first} url={links.first} onClose={links.next} />}
    </Page>
  );
}

function Invitations({ projectId }: { projectId: string }) {
  const { members } = text;
  const query = useQuery({
    queryKey: ['invitations', projectId],
    queryFn: async () => (await call('listInvitations', { projectId })).invitations,
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
            <Withdraw projectId={projectId} id={id} email={email} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Withdraws an invitation. */
function Withdraw({ projectId, id, email }: { projectId: string; id: string; email: string }) {
  const { members } = text;
  const { mutate, isPending } = useMutation({
    mutationFn: () => call('removeInvitation', { projectId, id }),
    onError: toastError,
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['invitations', projectId] }),
  });
  return (
    <Button
      look="ghost"
      className="bad"
      busy={isPending}
      onClick={() => mutate()}
      aria-label={members.withdrawFrom(email)}
    >
      {members.withdraw}
    </Button>
  );
}
