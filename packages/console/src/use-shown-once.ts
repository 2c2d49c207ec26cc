import { useBlocker } from '@tanstack/react-router';
import { useState } from 'react';

/**
 * Keeps somebody in a dialog that shows something this once: nothing leads away from it or reloads the page.
 * @param isSafe whether they have it by now
 * @returns whether they have tried to leave, and what sets that
 */
export function useShownOnce(isSafe = false): [isLeaving: boolean, setLeaving: (isLeaving: boolean) => void] {
  const [isLeaving, setLeaving] = useState(false);
  useBlocker({
    shouldBlockFn: () => {
      setLeaving(true);
      return true;
    },
    enableBeforeUnload: true,
    disabled: isSafe,
  });
  return [isLeaving, setLeaving];
}
