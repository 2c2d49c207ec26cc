import { Check, Copy, X } from 'lucide-react';
import { useState } from 'react';
import { copyText } from '../clipboard.ts';
import { text } from '../text/text.ts';

interface CopyButtonProps {
  value: string;
  label?: string;
  onCopied?: () => void;
}

const icons = { none: Copy, copied: Check, refused: X };
/** How long an outcome is shown, in milliseconds. */
const shownFor = { copied: 2000, refused: 10_000 };

/** Copies a text, and says for a moment whether the browser has let it. */
export function CopyButton({ value, label = text.common.copy, onCopied }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<keyof typeof icons>('none');
  function show(shown: keyof typeof shownFor) {
    setOutcome(shown);
    setTimeout(() => setOutcome('none'), shownFor[shown]);
  }
  async function copy() {
    try {
      await copyText(value);
    } catch {
      show('refused');
      return;
    }
    show('copied');
    onCopied?.();
  }
  const Icon = icons[outcome];
  return (
    <>
      <button
        type="button"
        className="copy"
        title={label}
        aria-label={outcome === 'copied' ? text.common.copied : label}
        onClick={copy}
      >
        <Icon className="i s" aria-hidden="true" />
      </button>
      {outcome === 'refused' && <span role="alert">{text.common.copyFailed}</span>}
    </>
  );
}
