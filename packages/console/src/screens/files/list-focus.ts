import { type RefObject, useEffect, useRef } from 'react';
import { elementIdOf } from './entry-parts.tsx';
import type { Entry } from './use-listing.ts';

/** Gives the focus to the entry that the keys are at, unless something else has it. */
export function focusList(): void {
  if (document.activeElement === document.body)
    document.querySelector<HTMLElement>('[role=grid] [tabindex="0"]')?.focus({ preventScroll: true });
}

/** Whether the focus is at an entry, or nowhere. */
export const hasFocus = ({ id }: Entry) =>
  document.activeElement === document.body ||
  document.getElementById(elementIdOf(id))?.contains(document.activeElement) === true;

/** Gives an entry the focus, unless somebody types a name. @returns whether it is drawn */
export function focus({ id }: Entry): boolean {
  const row = document.getElementById(elementIdOf(id));
  if (!isTyping(document.activeElement)) row?.focus({ preventScroll: true });
  return row !== null;
}

export const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLInputElement && target.type !== 'checkbox';

/** Moves the focus on when the entry that had it is gone, so that the keys go on. */
export function useKeptFocus(list: RefObject<HTMLElement | null>, entries: readonly Entry[], focus: () => void): void {
  const hadFocus = useRef(false);
  useEffect(() => {
    const note = () => {
      if (document.activeElement !== document.body)
        hadFocus.current = list.current?.contains(document.activeElement) ?? false;
    };
    document.addEventListener('focusin', note);
    return () => document.removeEventListener('focusin', note);
  }, [list]);
  useEffect(() => {
    if (hadFocus.current && document.activeElement === document.body) focus();
  }, [entries]);
}
