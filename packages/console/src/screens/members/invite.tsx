import { useState } from 'react';
import { call } from '../../api.ts';
import { Field, Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { problemOf } from '../../components/problem.tsx';
import { queryClient, type Role } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { SecretDialog } from '../keys/secret-dialog.tsx';
import { roleOptions } from './roles.ts';

interface InviteProps {
  projectId: string;
  onClose: () => void;
  /** Gets the link, which no other answer has. */
  onCreated: (url: string) => void;
}

/** Invites somebody. */
export function Invite({ projectId, onClose, onCreated }: InviteProps) {
  const [role, setRole] = useState<Role>('editor');
  const { members } = text;
  return (
    <FormDialog
      title={members.invite}
      lead={members.inviteLead}
      submit={members.invite}
      isSecret
      field="email"
      onClose={onClose}
      send={async ({ email = '' }, close) => {
        const { url } = await call('createInvitation', { projectId, email, role });
        close();
        onCreated(url);
        await queryClient.invalidateQueries({ queryKey: ['invitations', projectId] });
      }}
    >
      {(error) => (
        <>
          <Field label={members.email} name="email" type="email" required problem={problemOf(error, 'email')} />
          <Select
            label={members.role}
            value={role}
            options={roleOptions}
            onChange={setRole}
            hint={members.explained[role]}
          />
        </>
      )}
    </FormDialog>
  );
}

/** The link of a new invitation. */
export function InvitationLink({ url, onClose }: { url: string; onClose: () => void }) {
  const { members } = text;
  return (
    <SecretDialog
      title={members.invite}
      lead={members.linkLead}
      leaving={members.leaving}
      secret={url}
      onClose={onClose}
    />
  );
}
