import { useEffect, useRef } from 'react';
import { isCovered } from '../shell/is-covered.ts';
import { areLettersOn } from '../shell/shortcuts.ts';

/** Single letters do something while nobody types, and no dialog or menu is open. */
export function useLetterKeys(keys: Record<string, () => void>): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent) {
      const run = current.current[event.key];
      const isOff = event.key !== 'Escape' && !areLettersOn.read();
      if (!run || isOff || event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
      const isTyping =
        event.target instanceof Element && event.target.closest('input:not([type=checkbox]), textarea, select');
      if (isTyping || isCovered()) return;
      event.preventDefault();
      run();
    }
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, []);
}
