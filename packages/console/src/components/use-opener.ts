import { useState } from 'react';

/**
 * What gives the focus back when a dialog closes, also to a dialog that it was opened from: that cannot be reached by Tab, and so the
 * library would give it to the first button in there.
 */
export function useOpener(isOpen = true): () => boolean {
  const [{ wasOpen, opener }, setState] = useState<{ wasOpen: boolean; opener: Element | null }>({
    wasOpen: false,
    opener: null,
  });
  if (isOpen !== wasOpen) setState({ wasOpen: isOpen, opener: isOpen ? document.activeElement : opener });
  return () => {
    if (!(opener instanceof HTMLElement && opener.isConnected && opener.matches('[role=dialog]'))) return true;
    queueMicrotask(() => opener.focus({ preventScroll: true }));
    return false;
  };
}
