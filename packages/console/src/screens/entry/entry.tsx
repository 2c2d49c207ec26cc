import { useQuery } from '@tanstack/react-query';
import { Cookie as CookieIcon } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { Mark } from '../../components/mark.tsx';
import { keepsNothing } from '../../keep.ts';
import { text } from '../../text/text.ts';
import { useTitle } from '../title.ts';
import '../../styles/entry.css';

interface EntryProps {
  title: string;
  lead?: ReactNode;
  /** Above the title. */
  above?: ReactNode;
  children: ReactNode;
}

/** The screens before there is a session: a form, and the harbour beside it. */
export function Entry({ title, lead, above, children }: EntryProps) {
  const heading = useTitle(title);
  return (
    <div className="entry">
      <main className="entry-form">
        <div className="brand">
          <Mark size={26} />
          Cadiz
        </div>
        <div className="entry-in">
          <div>
            {above}
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            {lead && <p>{lead}</p>}
          </div>
          {keepsNothing() && (
            <p className="note warn">
              <CookieIcon className="i" aria-hidden="true" />
              {text.signIn.noCookies}
            </p>
          )}
          {children}
        </div>
        <Foot />
      </main>
      <Harbour />
    </div>
  );
}

/** Whether the service has what it needs. */
function Foot() {
  const { data, error } = useQuery({
    queryKey: ['health'],
    queryFn: async () =>
      (await (await fetch('/healthz')).json()) as { dependencies?: Record<string, { status: string }> },
  });
  const { setup } = text;
  const isDown = (name: string) => error !== null || data?.dependencies?.[name]?.status === 'down';
  if (!data && !error) return <div className="entry-foot" />;
  return (
    <div className="entry-foot">
      <Light isDown={isDown('database')} yes={setup.databaseAnswers} no={setup.databaseDown} />
      <Light isDown={isDown('objectStore')} yes={setup.storeAnswers} no={setup.storeDown} />
    </div>
  );
}

const Light = ({ isDown, yes, no }: { isDown: boolean; yes: string; no: string }) => (
  <span>
    <i className={`dot ${isDown ? 'bad' : 'ok'}`} />
    {isDown ? no : yes}
  </span>
);

/** Loaded after the form, which does not need it. Its colours follow the theme, so it stands in the page itself. */
function Harbour() {
  const [drawing, setDrawing] = useState('');
  useEffect(() => {
    import('../harbour.svg?raw').then(
      (module) => setDrawing(module.default),
      () => undefined,
    );
  }, []);
  return <div className="entry-art" aria-hidden="true" dangerouslySetInnerHTML={{ __html: drawing }} />;
}
