import { type ReactNode, type RefObject, useEffect, useRef } from 'react';
import { useTitle } from './title.ts';

interface PageProps {
  title: string;
  /** What the page is for, in a sentence. */
  lead?: ReactNode;
  /** In the bar: search, and the one main button last. */
  actions?: ReactNode;
  children: ReactNode;
}

/** A page of the sheet: a bar with its title and actions, and what it shows below. */
export function Page({ title, lead, actions, children }: PageProps) {
  const heading = useTitle(title);
  useFocusFrom(heading);
  return (
    <>
      <header className="bar">
        <h1 className="grow" ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions}
      </header>
      <div className="scroll">
        <div className="page">
          {lead && (
            <div className="page-h">
              <p className="grow">{lead}</p>
            </div>
          )}
          {children}
        </div>
      </div>
    </>
  );
}

/** Moves the focus to the heading when what had it is gone, such as a row that was restored from the trash: the keys go on from there. */
function useFocusFrom(heading: RefObject<HTMLElement | null>): void {
  const last = useRef<EventTarget>(null);
  useEffect(() => {
    const note = ({ target }: FocusEvent) => {
      last.current = target;
    };
    document.addEventListener('focusin', note);
    return () => document.removeEventListener('focusin', note);
  }, []);
  useEffect(() => {
    const isGone = last.current instanceof Element && !last.current.isConnected;
    if (isGone && document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  });
}
