import { useLayoutEffect, useRef } from 'react';
import { isOutdated } from '../once-reachable.ts';

/** What was typed while a dialog was still being loaded. */
let typed = '';
let count = 0;

/** Whether a dialog that was asked for, and that will get all keys, is still being loaded. */
export const isComing = (): boolean => count > 0 && !isOutdated.read();

/**
 * Takes the place of a dialog that is still being loaded. Keys do nothing to the screen beneath it, Escape gives the dialog up, and
 * what is typed goes into the field that gets the focus.
 */
export function Coming({ onClose }: { onClose: () => void }) {
  const close = useRef(onClose);
  close.current = onClose;
  useLayoutEffect(() => {
    count++;
    function onKeyDown(event: KeyboardEvent): void {
      const { key, ctrlKey, metaKey, altKey, isComposing } = event;
      // The browser's own keys still work, such as the one that reloads the page.
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

/** Puts what was typed into a field, as if it were typed now, unless something else is still being loaded. */
function giveTyped({ target }: FocusEvent): void {
  if (isComing()) return;
  // The only way that works in fields of every type, that React notices, and that can be undone.
  if (target instanceof HTMLInputElement && target.closest('[role=dialog]'))
    document.execCommand('insertText', false, typed);
  typed = '';
}
