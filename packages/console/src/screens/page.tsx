import { type ReactNode, type RefObject, useEffect } from 'react';
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
  useEffect(() => {
    const page = heading.current?.closest('main');
    if (!page) return;
    let last: EventTarget | null = null;
    const note = ({ target }: FocusEvent) => {
      last = target;
    };
    const look = () => {
      const isGone = last instanceof Element && !last.isConnected;
      if (isGone && document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
    };
    // Not by an effect: parts of a page are drawn without the rest. A frame later: a dialog that closes gives the focus back first.
    const observer = new MutationObserver(() => requestAnimationFrame(look));
    document.addEventListener('focusin', note);
    observer.observe(page, { childList: true, subtree: true });
    return () => {
      document.removeEventListener('focusin', note);
      observer.disconnect();
    };
  }, [heading]);
}
