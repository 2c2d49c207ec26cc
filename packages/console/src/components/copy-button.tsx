import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { copyOrSay } from '../clipboard.ts';
import { text } from '../text/text.ts';

interface CopyButtonProps {
  value: string;
  label?: string;
  onCopied?: () => void;
}

/** Copies a text, and says so for a moment. */
export function CopyButton({ value, label = text.common.copy, onCopied }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  async function copy() {
    if (!(await copyOrSay(value))) return;
    setCopied(true);
    onCopied?.();
    setTimeout(() => setCopied(false), 2000);
  }
  const Icon = isCopied ? Check : Copy;
  return (
    <button
      type="button"
      className="copy"
      title={label}
      aria-label={isCopied ? text.common.copied : label}
      onClick={copy}
    >
      <Icon className="i s" aria-hidden="true" />
    </button>
  );
}
