import { useEffect, useRef } from 'react';
import { isCovered } from '../shell/is-covered.ts';
import { isTyping } from '../shell/is-typing.ts';
import { keyOf } from '../shell/key-of.ts';
import { areLettersOn } from '../shell/shortcuts.ts';

/**
 * Single letters do something while nobody types, and no dialog or menu is open; so do keys with Ctrl, or ⌘, whose names
 * begin with `Mod+`.
 */
export function useLetterKeys(keys: Record<string, () => void>): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent) {
      const hasModifier = event.metaKey || event.ctrlKey;
      const run = current.current[hasModifier ? `Mod+${keyOf(event)}` : keyOf(event)];
      const isOff = event.key !== 'Escape' && !hasModifier && !areLettersOn.read();
      if (!run || isOff || event.defaultPrevented || event.altKey) return;
      if (isTyping(event) || isCovered()) return;
      event.preventDefault();
      if (!event.repeat) run();
    }
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, []);
}
