import { isComing } from '../../components/coming.tsx';

/** Whether a dialog or a menu is open or on its way, which has the keys to itself. A message is a dialog as well, but in nobody's way. */
export const isCovered = (): boolean =>
  isComing() || document.querySelector('[role=dialog]:not(.toast), [role=menu], dialog[open]') !== null;
