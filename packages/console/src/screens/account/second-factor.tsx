import { Ellipsis, ShieldCheck } from 'lucide-react';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Field, PasswordField } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Menu } from '../../components/menu.tsx';
import { Badge } from '../../components/parts.tsx';
import { problemOf } from '../../components/problem.tsx';
import { toast } from '../../components/toast.tsx';
import { queryClient, sessionQuery, useUser } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { useQueue } from '../../use-queue.ts';
import { BackupCodesDialog } from './backup-codes.tsx';
import { Row } from './row.tsx';

const readAgain = () => queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });

/** @param isOffered whether the service lets accounts get a second factor */
export function SecondFactorRow({ isOffered }: { isOffered: boolean }) {
  const { twoFactorEnabled } = useUser();
  const [open, setOpen] = useState<'setUp' | 'renew' | 'disable'>();
  const codes = useQueue<readonly string[]>();
  const { account } = later;
  const close = () => setOpen(undefined);
  if (!isOffered && !twoFactorEnabled) return null;
  const manage = (
    <Menu
      trigger={<IconButton icon={Ellipsis} label={account.manageCodes} />}
      actions={[
        { label: account.renewCodes, run: () => setOpen('renew') },
        { label: account.disable, isBad: true, isNewGroup: true, run: () => setOpen('disable') },
      ]}
    />
  );
  const begin = (
    <Button size="s" aria-label={account.setUpCodes} onClick={() => setOpen('setUp')}>
      {account.setUp}
    </Button>
  );
  return (
    <>
      <Row
        icon={ShieldCheck}
        title={account.codes}
        badge={twoFactorEnabled ? <Badge tone="ok">{account.on}</Badge> : <Badge>{account.off}</Badge>}
        detail={account.codesDetail}
        action={twoFactorEnabled ? manage : begin}
      />
      {open === 'setUp' && <SetUp onClose={close} onCodes={codes.add} />}
      {open === 'renew' && <Renew onClose={close} onCodes={codes.add} />}
      {open === 'disable' && <Disable onClose={close} />}
      {codes.first && !open && <BackupCodesDialog codes={codes.first} onClose={codes.next} />}
    </>
  );
}

interface NewCodesProps {
  onClose: () => void;
  /** Gets the backup codes, which are held nowhere else. */
  onCodes: (codes: readonly string[]) => void;
}

/** The password, then the app with its first code; then there are backup codes. */
function SetUp({ onClose, onCodes }: NewCodesProps) {
  const [secrets, setSecrets] = useState<{ totpURI: string; backupCodes: string[] }>();
  const { account } = later;
  if (secrets)
    return (
      <FormDialog
        key="app"
        title={account.appTitle}
        lead={account.appLead}
        submit={account.switchOn}
        isSecret
        onClose={onClose}
        send={async ({ code = '' }, close) => {
          await call('verifyTotp', { code: code.replaceAll(' ', '') });
          close();
          onCodes(secrets.backupCodes);
          await readAgain();
        }}
      >
        {(error) => (
          <>
            <AppSecret uri={secrets.totpURI} />
            <Code label={account.code} isNumber error={error} />
          </>
        )}
      </FormDialog>
    );
  return (
    <FormDialog
      key="password"
      title={account.setUpCodes}
      lead={account.setUpLead}
      submit={account.continue}
      onClose={onClose}
      send={async ({ password = '' }) => setSecrets(await call('enableSecondFactor', { password }))}
    >
      {(error) => <CurrentPassword error={error} />}
    </FormDialog>
  );
}

/** The secret for the app: a link that opens it on this device, and the secret in groups to type elsewhere. */
function AppSecret({ uri }: { uri: string }) {
  const secret = new URL(uri).searchParams.get('secret') ?? '';
  const { account } = later;
  return (
    <div className="stack g3">
      <a href={uri}>{account.openApp}</a>
      <div className="stack g1">
        <span className="second">{account.typeSecret}</span>
        <div className="secret">
          <code>{secret.match(/.{1,4}/g)?.join(' ')}</code>
          <CopyButton value={secret} label={account.copySecret} />
        </div>
      </div>
    </div>
  );
}

function Renew({ onClose, onCodes }: NewCodesProps) {
  const { account } = later;
  return (
    <FormDialog
      title={account.renewCodes}
      lead={account.renewLead}
      submit={account.renewCodes}
      isSecret
      onClose={onClose}
      send={async ({ password = '', code = '' }, close) => {
        const { backupCodes } = await call('renewBackupCodes', { password, code: code.replaceAll(' ', '') });
        close();
        onCodes(backupCodes);
      }}
    >
      {(error) => <PasswordAndCode error={error} />}
    </FormDialog>
  );
}

function Disable({ onClose }: { onClose: () => void }) {
  const { account } = later;
  return (
    <FormDialog
      title={account.disable}
      lead={account.disableLead}
      submit={account.disable}
      isDanger
      onClose={onClose}
      send={async ({ password = '', code = '' }, close) => {
        await call('disableSecondFactor', { password, code: code.replaceAll(' ', '') });
        await readAgain();
        toast(account.disabled);
        close();
      }}
    >
      {(error) => <PasswordAndCode error={error} />}
    </FormDialog>
  );
}

function PasswordAndCode({ error }: { error: unknown }) {
  return (
    <>
      <CurrentPassword error={error} />
      <Code label={later.account.anyCode} error={error} />
    </>
  );
}

function CurrentPassword({ error }: { error: unknown }) {
  return (
    <PasswordField
      label={later.account.currentPassword}
      name="password"
      autoComplete="current-password"
      required
      problem={problemOf(error, 'password')}
    />
  );
}

function Code({ label, isNumber = false, error }: { label: string; isNumber?: boolean; error: unknown }) {
  return (
    <Field
      label={label}
      name="code"
      inputMode={isNumber ? 'numeric' : 'text'}
      autoComplete="one-time-code"
      className="mono"
      required
      problem={problemOf(error, 'code')}
    />
  );
}
