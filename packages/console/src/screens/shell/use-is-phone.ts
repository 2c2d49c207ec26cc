import { useSyncExternalStore } from 'react';

/** Navigation is at the bottom of windows that are as narrow as this. */
export const phone = window.matchMedia('(max-width: 45em)');

function subscribe(listener: () => void): () => void {
  phone.addEventListener('change', listener);
  return () => phone.removeEventListener('change', listener);
}

/** Whether the window is as narrow as a phone. */
export const useIsPhone = (): boolean => useSyncExternalStore(subscribe, () => phone.matches);
