import { RectangleEllipsis } from 'lucide-react';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Check, PasswordField } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { problemOf } from '../../components/problem.tsx';
import { toast } from '../../components/toast.tsx';
import { queryClient, useUser } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { NewPasswordField } from '../entry/new-password-field.tsx';
import { Row } from './row.tsx';

export function PasswordRow() {
  const [isOpen, setOpen] = useState(false);
  const { account } = later;
  return (
    <>
      <Row
        icon={RectangleEllipsis}
        title={account.password}
        detail={account.passwordDetail}
        action={
          <Button size="s" aria-label={account.changePassword} onClick={() => setOpen(true)}>
            {account.change}
          </Button>
        }
      />
      {isOpen && <PasswordDialog onClose={() => setOpen(false)} />}
    </>
  );
}

/** A new password ends every other session, and with the choice also the API keys. */
function PasswordDialog({ onClose }: { onClose: () => void }) {
  const { email } = useUser();
  const { account } = later;
  return (
    <FormDialog
      title={account.changePassword}
      lead={account.changePasswordLead}
      submit={account.changePassword}
      onClose={onClose}
      send={async ({ currentPassword = '', newPassword = '', revokeApiKeys }, close) => {
        const input = { currentPassword, newPassword, revokeApiKeys: revokeApiKeys === 'on' };
        const ended = await call('changePassword', input);
        toast(account.passwordChanged(ended.endedSessions, ended.revokedApiKeys));
        void queryClient.invalidateQueries({ queryKey: ['sessions'] });
        close();
      }}
    >
      {(error) => (
        <>
          {/* Password managers keep the new password for this account. */}
          <input type="email" autoComplete="username" value={email} readOnly hidden />
          <PasswordField
            label={account.currentPassword}
            name="currentPassword"
            autoComplete="current-password"
            required
            problem={problemOf(error, 'currentPassword')}
          />
          <NewPasswordField label={account.newPassword} name="newPassword" error={error} />
          <Check name="revokeApiKeys" label={account.revokeKeys} hint={account.revokeKeysHint} />
        </>
      )}
    </FormDialog>
  );
}
