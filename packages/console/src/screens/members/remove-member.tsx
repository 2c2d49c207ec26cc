import { useNavigate } from '@tanstack/react-router';
import { call } from '../../api.ts';
import { FormDialog } from '../../components/form-dialog.tsx';
import { toast } from '../../components/toast.tsx';
import { projectsQuery, queryClient, useUser } from '../../queries.ts';
import { text } from '../../text/text.ts';

export interface Member {
  userId: string;
  name: string;
}

interface RemoveMemberProps {
  projectId: string;
  member: Member;
  onClose: () => void;
}

/** Asks before somebody loses a project, and with it their keys. Whoever leaves is led away. */
export function RemoveMember({ projectId, member: { userId, name }, onClose }: RemoveMemberProps) {
  const isOneself = useUser().id === userId;
  const navigate = useNavigate();
  const { members } = text;
  return (
    <FormDialog
      isDanger
      title={isOneself ? members.leaveTitle : members.removeTitle(name)}
      lead={isOneself ? members.leaveLead : members.removeLead}
      submit={isOneself ? members.leave : text.common.remove}
      onClose={onClose}
      send={async (_, close) => {
        await call('removeMember', { projectId, userId });
        const wasOpen = close();
        void toast(members.removed(name));
        if (isOneself) {
          await queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
          // Whoever has gone elsewhere meanwhile stays there.
          if (wasOpen) await navigate({ to: '/projects' });
          return;
        }
        // Keys and tickets went, too.
        const names = ['members', 'keys', 'tickets'];
        await Promise.all(names.map((name) => queryClient.invalidateQueries({ queryKey: [name, projectId] })));
      }}
    />
  );
}
