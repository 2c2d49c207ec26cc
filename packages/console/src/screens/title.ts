import { type RefObject, useEffect, useRef } from 'react';
import { straighten } from '../straighten.ts';

/** Names the window, and moves the focus to the heading when a screen is opened. */
export function useTitle(title: string): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${straighten(title)} · Cadiz`;
  }, [title]);
  useEffect(() => {
    if (document.activeElement === null || document.activeElement === document.body)
      heading.current?.focus({ preventScroll: true });
  }, []);
  return heading;
}
