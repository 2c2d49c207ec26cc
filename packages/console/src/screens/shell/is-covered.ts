/** Whether a dialog or a menu is open, which has the keys to itself. A message is a dialog as well, but in nobody's way. */
export const isCovered = (): boolean =>
  document.querySelector('[role=dialog]:not(.toast), [role=menu], dialog[open]') !== null;
