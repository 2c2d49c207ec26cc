import type { Answer } from '@cadiz/contract';
import { useMutation } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Avatar, Badge } from '../../components/parts.tsx';
import { toastError } from '../../components/toast.tsx';
import { membersQuery, queryClient, type Role, useUser } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { roleOptions } from './roles.ts';

interface MemberRowProps {
  projectId: string;
  member: Answer<'listMembers'>['members'][number];
  /** Whether whoever is signed in may change it. */
  isOwner: boolean;
  /** Whether it is the only owner, who has to stay. */
  isOnlyOwner: boolean;
  onRemove: () => void;
}

/** A member. A new role is shown at once, and the old one again if the service refuses it. Owners are asked about their own: they could not take it back. */
export function MemberRow({
  projectId,
  member: { userId, name, email, role },
  isOwner,
  isOnlyOwner,
  onRemove,
}: MemberRowProps) {
  const isOneself = useUser().id === userId;
  const reason = useId();
  const [own, setOwn] = useState<Role>();
  const { members } = text;
  const change = useMutation({
    // One after the other, so that the last choice wins.
    scope: { id: `role of ${userId}` },
    mutationFn: (next: Role) => call('changeMember', { projectId, userId, role: next }),
    onError: toastError,
    onSettled: () => queryClient.invalidateQueries({ queryKey: membersQuery(projectId).queryKey }),
  });
  const shown = change.isPending ? change.variables : role;
  return (
    <li className="line">
      <Avatar name={name} size="l" />
      <span className="grow person">
        <span className="line g2">
          <b className="med clip">
            <bdi>{name}</bdi>
          </b>
          {isOneself && <Badge>{text.common.you}</Badge>}
        </span>
        <span className="cap quiet clip">{email}</span>
        {isOwner && isOnlyOwner && (
          <span id={reason} className="cap">
            {members.onlyOwner}
          </span>
        )}
      </span>
      <span className="quiet only-wide may">{members.explained[shown]}</span>
      {isOwner ? (
        <>
          <Select
            isLabelHidden
            label={members.roleOf(name)}
            value={shown}
            options={roleOptions.map((option) => ({ ...option, isOff: isOnlyOwner && option.value !== 'owner' }))}
            describedBy={isOnlyOwner ? reason : undefined}
            onChange={isOneself ? setOwn : change.mutate}
          />
          {!isOnlyOwner && (
            <Button
              look="ghost"
              className="bad"
              onClick={onRemove}
              aria-label={isOneself ? members.leave : members.removeTitle(name)}
            >
              {isOneself ? members.leave : text.common.remove}
            </Button>
          )}
        </>
      ) : (
        <Badge>{members.roles[role]}</Badge>
      )}
      {own && (
        <FormDialog
          title={members.ownTitle(members.roles[own])}
          lead={members.ownLead}
          submit={members.change}
          isDanger
          send={async () => {
            change.mutate(own);
            setOwn(undefined);
          }}
          onClose={() => setOwn(undefined)}
        />
      )}
    </li>
  );
}
