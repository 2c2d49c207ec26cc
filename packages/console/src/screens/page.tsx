import type { ReactNode } from 'react';
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
