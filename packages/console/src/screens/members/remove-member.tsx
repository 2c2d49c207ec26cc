import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { toast } from '../../components/toast.tsx';
import { membersQuery, projectsQuery, queryClient, useUser } from '../../queries.ts';
import { text } from '../../text/text.ts';

export interface Member {
  userId: string;
  name: string;
}

interface RemoveMemberProps {
  projectId: string;
  /** Undefined while nobody is to go. */
  member: Member | undefined;
  onClose: () => void;
}

/** Asks before somebody loses a project, and with it their keys. Whoever leaves is led away. */
export function RemoveMember({ projectId, member, onClose }: RemoveMemberProps) {
  const user = useUser();
  const navigate = useNavigate();
  const isOneself = member?.userId === user.id;
  const { members } = text;
  const remove = useMutation({
    mutationFn: ({ userId }: Member) => call('removeMember', { projectId, userId }),
    onSuccess: async (_, { name }) => {
      onClose();
      void toast(members.removed(name));
      if (isOneself) {
        await queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
        await navigate({ to: '/projects' });
      } else await queryClient.invalidateQueries({ queryKey: membersQuery(projectId).queryKey });
    },
  });
  return (
    <Dialog
      open={member !== undefined}
      onClose={onClose}
      title={isOneself ? members.leaveTitle : members.removeTitle(member?.name ?? '')}
      lead={members.removeLead}
      footer={
        <>
          <Button onClick={onClose}>{text.common.cancel}</Button>
          <Button look="danger" busy={remove.isPending} onClick={() => member && remove.mutate(member)}>
            {isOneself ? members.leave : text.common.remove}
          </Button>
        </>
      }
    >
      <ProblemNote error={remove.error} />
    </Dialog>
  );
}
