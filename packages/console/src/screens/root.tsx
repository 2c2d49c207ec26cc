import { useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { Suspense } from 'react';
import { Toasts } from '../components/toast.tsx';
import { sessionQuery } from '../queries.ts';
import { SessionEnded } from './entry/session-ended.tsx';
import { Pending } from './fallbacks.tsx';
import { OverlaysRegion } from './shell/overlays-region.tsx';

/** What is there on every screen. */
export function Root() {
  const { data: session } = useQuery(sessionQuery);
  return (
    <>
      <Suspense fallback={<Pending />}>
        <Outlet />
      </Suspense>
      {session && <OverlaysRegion />}
      <SessionEnded user={session?.user} />
      <Toasts />
    </>
  );
}
