import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field, Select } from '../../components/field.tsx';
import { ProblemNote, problemOf } from '../../components/problem.tsx';
import { queryClient, type Role } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { useForm } from '../entry/form.ts';
import { roleOptions } from './roles.ts';

interface InviteProps {
  open: boolean;
  projectId: string;
  onClose: () => void;
}

/** The field that had the focus is gone. */
const focusCopy = (line: HTMLElement | null): void => line?.querySelector('button')?.focus();

/** Invites somebody, and shows the link, which no other answer has. */
export function Invite({ open, projectId, onClose }: InviteProps) {
  const [role, setRole] = useState<Role>('editor');
  const [url, setUrl] = useState<string>();
  const { members } = text;
  const { onSubmit, error, isPending, reset } = useForm(async ({ email = '' }) => {
    setUrl((await call('createInvitation', { projectId, email, role })).url);
    await queryClient.invalidateQueries({ queryKey: ['invitations', projectId] });
  });
  function close() {
    setUrl(undefined);
    reset();
    onClose();
  }
  const problem = problemOf(error, 'email');
  return (
    <Dialog
      open={open}
      onClose={close}
      // The link is shown nowhere else.
      isKept={url !== undefined}
      title={members.invite}
      lead={url === undefined ? members.inviteLead : members.linkLead}
      footer={
        url === undefined ? (
          <>
            <Button onClick={close}>{text.common.cancel}</Button>
            <Button look="main" type="submit" form="invite" busy={isPending}>
              {members.invite}
            </Button>
          </>
        ) : (
          <Button onClick={close}>{text.common.close}</Button>
        )
      }
    >
      {url === undefined ? (
        <form id="invite" className="stack g4" onSubmit={onSubmit}>
          <Field label={members.email} name="email" type="email" required problem={problem} />
          <Select
            label={members.role}
            value={role}
            options={roleOptions}
            onChange={setRole}
            hint={members.explained[role]}
          />
          {!problem && <ProblemNote error={error} />}
        </form>
      ) : (
        <div className="secret" ref={focusCopy}>
          <code className="mono grow">{url}</code>
          <CopyButton isMain value={url} />
        </div>
      )}
    </Dialog>
  );
}
