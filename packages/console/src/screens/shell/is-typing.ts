/** Whether an event belongs to a field in which something is typed or chosen. */
export const isTyping = ({ target }: Event): boolean =>
  target instanceof Element &&
  target.closest('input:not([type=checkbox]), textarea, select, [contenteditable]') !== null;
