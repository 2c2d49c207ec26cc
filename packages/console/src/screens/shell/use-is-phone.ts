import { useSyncExternalStore } from 'react';

const phone = window.matchMedia('(max-width: 720px)');

function subscribe(listener: () => void): () => void {
  phone.addEventListener('change', listener);
  return () => phone.removeEventListener('change', listener);
}

/** Whether the window is as narrow as a phone: navigation is at the bottom then. */
export const useIsPhone = (): boolean => useSyncExternalStore(subscribe, () => phone.matches);
