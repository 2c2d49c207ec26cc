/** Gives the focus to the entry that the keys are at, or else to the title of the screen, unless something else has it. */
export function focusList(): void {
  if (!document.activeElement?.matches('body, h1')) return;
  const find = (selector: string) => document.querySelector<HTMLElement>(selector);
  (find('[role=grid] [tabindex="0"]') ?? find('h1'))?.focus({ preventScroll: true });
}
