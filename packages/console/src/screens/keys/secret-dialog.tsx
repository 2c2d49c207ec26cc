import { Check, Copy } from 'lucide-react';
import { type ReactNode, useRef, useState } from 'react';
import { copyText } from '../../clipboard.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { text } from '../../text/text.ts';
import { useShownOnce } from '../../use-shown-once.ts';

interface SecretDialogProps {
  title: string;
  lead: string;
  secret: string;
  /** What it means to go without having copied it. */
  leaving: string;
  onClose: () => void;
  /** Code that uses it. */
  children?: ReactNode;
}

/** A secret that is shown once: nothing but a decision closes it, leads away from it or reloads the page. */
export function SecretDialog({ title, lead, secret, leaving, onClose, children }: SecretDialogProps) {
  const [isCopied, setCopied] = useState(false);
  const [hasFailed, setFailed] = useState(false);
  const copyButton = useRef<HTMLButtonElement>(null);
  const { keys } = text;
  const [isLeaving, setLeaving] = useShownOnce(isCopied);
  async function copy() {
    try {
      await copyText(secret);
      setCopied(true);
    } catch {
      // The browser refuses. It can be copied by hand all the same.
      setFailed(true);
    }
  }
  const warning = hasFailed ? keys.copyFailed : isLeaving ? leaving : undefined;
  return (
    <Dialog
      open
      isKept
      width="k"
      onClose={() => {}}
      initialFocus={copyButton}
      title={title}
      lead={lead}
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
        <code className="mono grow" onCopy={() => setCopied(true)}>
          {secret}
        </code>
        <Button ref={copyButton} look={isCopied ? 'default' : 'main'} icon={isCopied ? Check : Copy} onClick={copy}>
          {isCopied ? text.common.copied : text.common.copy}
        </Button>
      </div>
      {warning && !isCopied && (
        <p className="warn" role="alert">
          {warning}
        </p>
      )}
      {children}
    </Dialog>
  );
}
