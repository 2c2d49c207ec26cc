import { useLocation, useParams } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useSyncExternalStore } from 'react';
import { Coming } from '../../components/coming.tsx';
import { onceReachable } from '../../once-reachable.ts';
import { useRole } from '../../queries.ts';
import { useQueue } from '../../use-queue.ts';
import type { NewKey } from '../keys/key-secret.tsx';
import type { Here } from './here.ts';
import { closeOverlay, overlay } from './overlays.ts';
import { useGlobalKeys } from './use-global-keys.ts';

const Palette = lazy(onceReachable(async () => ({ default: (await import('./palette.tsx')).Palette })));
const ShortcutList = lazy(onceReachable(async () => ({ default: (await import('./shortcut-list.tsx')).ShortcutList })));
const MoreSheet = lazy(onceReachable(async () => ({ default: (await import('./more-sheet.tsx')).MoreSheet })));
const SignOut = lazy(onceReachable(async () => ({ default: (await import('./sign-out.tsx')).SignOut })));
const NewFolder = lazy(onceReachable(async () => ({ default: (await import('../files/new-folder.tsx')).NewFolder })));
const Invite = lazy(onceReachable(async () => ({ default: (await import('../members/invite.tsx')).Invite })));
const InvitationLink = lazy(
  onceReachable(async () => ({ default: (await import('../members/invite.tsx')).InvitationLink })),
);
const CreateKey = lazy(onceReachable(async () => ({ default: (await import('../keys/create-key.tsx')).CreateKey })));
const KeySecret = lazy(onceReachable(async () => ({ default: (await import('../keys/key-secret.tsx')).KeySecret })));

/** What lies over every screen of somebody who is signed in, and the keys that open it. */
export function OverlaysRegion() {
  const { projectId, folderId = null } = useParams({ strict: false });
  const pathname = useLocation({ select: (location) => location.pathname });
  // What was asked for on one screen is not for another, such as after going back.
  useEffect(() => closeOverlay, [pathname]);
  if (projectId) return <InProject key={projectId} projectId={projectId} folderId={folderId} />;
  return <Overlays projectId={undefined} folderId={null} />;
}

function InProject(place: { projectId: string; folderId: string | null }) {
  return <Overlays {...place} role={useRole(place.projectId)} />;
}

function Overlays(here: Here) {
  const shown = useSyncExternalStore(overlay.subscribe, overlay.read);
  useGlobalKeys(here);
  const { projectId, folderId } = here;
  return (
    <Suspense fallback={shown && <Coming onClose={closeOverlay} />}>
      {shown === 'palette' && <Palette {...here} />}
      {shown === 'shortcuts' && <ShortcutList />}
      {shown === 'signOut' && <SignOut />}
      {projectId && (
        <>
          {shown === 'more' && <MoreSheet projectId={projectId} role={here.role} />}
          {shown === 'newFolder' && <NewFolder projectId={projectId} parentId={folderId} onClose={closeOverlay} />}
          <ShownOnce<string>
            isAsked={shown === 'invite'}
            isFree={shown === undefined}
            ask={(onCreated) => <Invite projectId={projectId} onClose={closeOverlay} onCreated={onCreated} />}
            show={(url, onClose) => <InvitationLink key={url} url={url} onClose={onClose} />}
          />
          <ShownOnce<NewKey>
            isAsked={shown === 'createKey'}
            isFree={shown === undefined}
            ask={(onCreated) => <CreateKey projectId={projectId} onClose={closeOverlay} onCreated={onCreated} />}
            show={(created, onClose) => (
              <KeySecret key={created.secret} projectId={projectId} created={created} onClose={onClose} />
            )}
          />
        </>
      )}
    </Suspense>
  );
}

interface ShownOnceProps<T> {
  isAsked: boolean;
  /** Whether nothing else is open. */
  isFree: boolean;
  ask: (onCreated: (created: T) => void) => ReactNode;
  /** With a key of its own for each. */
  show: (created: T, onClose: () => void) => ReactNode;
}

/** Asks for what creates a secret, and shows that once. */
function ShownOnce<T>({ isAsked, isFree, ask, show }: ShownOnceProps<T>) {
  const { first, add, next } = useQueue<T>();
  if (first !== undefined && isFree) return show(first, next);
  return isAsked && ask(add);
}
