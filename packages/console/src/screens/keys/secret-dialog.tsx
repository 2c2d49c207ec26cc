import { Check, Copy } from 'lucide-react';
import { useRef, useState } from 'react';
import { copyText } from '../../clipboard.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { text } from '../../text/text.ts';
import { Snippets } from './snippets.tsx';

interface SecretDialogProps {
  projectId: string;
  secret: string;
  onClose: () => void;
}

/** A secret that is shown once: nothing but a decision closes it. */
export function SecretDialog({ projectId, secret, onClose }: SecretDialogProps) {
  const [isCopied, setCopied] = useState(false);
  const [isLeaving, setLeaving] = useState(false);
  const copyButton = useRef<HTMLButtonElement>(null);
  const { keys } = text;
  async function copy() {
    await copyText(secret);
    setCopied(true);
  }
  return (
    <Dialog
      open
      isKept
      width="k"
      onClose={() => {}}
      initialFocus={copyButton}
      title={keys.created}
      lead={keys.createdLead}
      footer={
        <>
          {!isCopied && (
            <Button look="ghost" onClick={() => (isLeaving ? onClose() : setLeaving(true))}>
              {isLeaving ? keys.closeAnyway : keys.closeWithoutCopying}
            </Button>
          )}
          <span className="grow" />
          <Button look={isCopied ? 'main' : 'default'} disabled={!isCopied} onClick={onClose}>
            {keys.done}
          </Button>
        </>
      }
    >
      <div className="secret">
        <code className="mono grow">{secret}</code>
        <Button ref={copyButton} look={isCopied ? 'default' : 'main'} icon={isCopied ? Check : Copy} onClick={copy}>
          {isCopied ? text.common.copied : text.common.copy}
        </Button>
      </div>
      {isLeaving && !isCopied && (
        <p className="warn" role="alert">
          {keys.leaving}
        </p>
      )}
      <Snippets projectId={projectId} apiKey={secret} />
    </Dialog>
  );
}
