import { Check, Copy, X } from 'lucide-react';
import { useState } from 'react';
import { copyText } from '../clipboard.ts';
import { text } from '../text/text.ts';

interface CopyButtonProps {
  value: string;
  label?: string;
  /** Whether it is shown with a word. */
  hasWord?: boolean;
}

const icons = { none: Copy, copied: Check, refused: X };
/** How long an outcome is shown, in milliseconds. */
const shownFor = { copied: 2000, refused: 10_000 };

/** Copies a text, and shows for a moment whether the browser has allowed it. */
export function CopyButton({ value, label = text.common.copy, hasWord = false }: CopyButtonProps) {
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
  }
  const Icon = icons[outcome];
  const word = outcome === 'copied' ? text.common.copied : label;
  return (
    <>
      <button type="button" className={hasWord ? 'btn ghost s' : 'copy'} title={label} aria-label={word} onClick={copy}>
        <Icon className={hasWord ? 'i' : 'i s'} aria-hidden="true" />
        {hasWord && (outcome === 'copied' ? word : text.common.copy)}
      </button>
      {outcome === 'refused' && <span role="alert">{text.common.copyFailed}</span>}
    </>
  );
}
