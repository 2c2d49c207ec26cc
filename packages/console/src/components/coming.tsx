import { useLayoutEffect, useRef } from 'react';
import { isOutdated } from '../once-reachable.ts';

/** What was typed for what is still being loaded. */
let typed = '';
let count = 0;

/** Whether something that somebody has asked for, and that will have the keys to itself, is still being loaded. */
export const isComing = (): boolean => count > 0 && !isOutdated.read();

/**
 * Stands where a dialog is still being loaded. Keys do nothing to what is beneath it, Escape gives it up, and what is typed goes into
 * the field that gets the focus.
 */
export function Coming({ onClose }: { onClose: () => void }) {
  const close = useRef(onClose);
  close.current = onClose;
  useLayoutEffect(() => {
    count++;
    function onKeyDown(event: KeyboardEvent): void {
      const { key, ctrlKey, metaKey, altKey, isComposing } = event;
      // What the browser itself does, such as to load the page again, it still does.
      if (!isComing() || isComposing) return;
      event.stopPropagation();
      if (ctrlKey || metaKey || altKey) return;
      const isLetter = [...key].length === 1;
      if (isLetter || key === 'Enter' || key === 'Backspace') event.preventDefault();
      if (isLetter) typed += key;
      else if (key === 'Backspace') typed = typed.slice(0, -1);
      else if (key === 'Escape') {
        typed = '';
        close.current();
      }
    }
    window.addEventListener('keydown', onKeyDown, { capture: true });
    return () => {
      window.removeEventListener('keydown', onKeyDown, { capture: true });
      count--;
      if (typed !== '') window.addEventListener('focusin', giveTyped, { once: true });
    };
  }, []);
  return null;
}

/** Puts what was typed into a field, as if it were typed now, unless more is to be loaded before. */
function giveTyped({ target }: FocusEvent): void {
  if (isComing()) return;
  // Nothing else does so for fields of every type, tells React, and can be taken back.
  if (target instanceof HTMLInputElement && target.closest('[role=dialog]'))
    document.execCommand('insertText', false, typed);
  typed = '';
}
