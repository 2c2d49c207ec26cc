import { useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { Suspense, useState, useSyncExternalStore } from 'react';
import { Toasts } from '../components/toast.tsx';
import { isOutdated } from '../once-reachable.ts';
import { sessionQuery } from '../queries.ts';
import { text } from '../text/text.ts';
import { SessionEnded } from './entry/session-ended.tsx';
import { Pending } from './fallbacks.tsx';
import { OverlaysRegion } from './shell/overlays-region.tsx';

/** What is there on every screen. */
export function Root() {
  const { data: session } = useQuery(sessionQuery);
  // Once they are there, they stay when the session ends, with what was typed in them.
  const [hasBegun, setBegun] = useState(false);
  if (session && !hasBegun) setBegun(true);
  return (
    <>
      <Suspense fallback={<Pending />}>
        <Outlet />
      </Suspense>
      {hasBegun && <OverlaysRegion />}
      <SessionEnded user={session?.user} />
      <Toasts />
      <Outdated />
    </>
  );
}

/** Offers to load the page again, over all that is open: what was typed there can be copied before. */
function Outdated() {
  const isShown = useSyncExternalStore(isOutdated.subscribe, isOutdated.read);
  if (!isShown) return null;
  return (
    <div className="toast" role="alert">
      {text.shell.outdated}
      <button type="button" className="btn" onClick={() => location.reload()}>
        {text.shell.reload}
      </button>
    </div>
  );
}
