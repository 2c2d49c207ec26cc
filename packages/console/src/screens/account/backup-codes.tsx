import { Download } from 'lucide-react';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { save } from '../../save.ts';
import { later } from '../../text/later.ts';
import { useShownOnce } from '../../use-shown-once.ts';

/** Backup codes, which are shown this once. */
export function BackupCodesDialog({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const [isLeaving] = useShownOnce();
  const { account } = later;
  const lines = `${codes.join('\n')}\n`;
  return (
    <Dialog
      open
      isKept
      onClose={onClose}
      title={account.backupCodes}
      lead={account.backupCodesLead}
      footer={
        <>
          <Button icon={Download} onClick={() => save('cadiz-backup-codes.txt', 'text/plain', lines)}>
            {account.download}
          </Button>
          <Button look="main" onClick={onClose}>
            {account.done}
          </Button>
        </>
      }
    >
      <div className="secret">
        <ul className="codes mono">
          {codes.map((code) => (
            <li key={code}>{code}</li>
          ))}
        </ul>
        <CopyButton value={lines} label={account.copyCodes} />
      </div>
      {isLeaving && (
        <p className="warn" role="alert">
          {account.leavingCodes}
        </p>
      )}
    </Dialog>
  );
}
