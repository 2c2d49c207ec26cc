import { lazy, Suspense, useSyncExternalStore } from 'react';
import { onceReachable } from '../../once-reachable.ts';
import { isTrayOpen } from '../shell/overlays.ts';
import { useIsPhone } from '../shell/use-is-phone.ts';
import { Announcer } from './announcer.tsx';
import * as conflicts from './conflicts.ts';
import { hasUnfinished } from './resume-store.ts';
import { present, toShare } from './uploads.ts';

const Tray = lazy(onceReachable(async () => ({ default: (await import('./tray.tsx')).Tray })));
const ConflictDialog = lazy(
  onceReachable(async () => ({ default: (await import('./conflict-dialog.tsx')).ConflictDialog })),
);

const Unfinished = lazy(onceReachable(async () => ({ default: (await import('./unfinished.tsx')).Unfinished })));

/** What is seen of uploads, on every screen of a project. */
export function UploadsRegion({ projectId }: { projectId: string | undefined }) {
  const isOpen = useSyncExternalStore(isTrayOpen.subscribe, isTrayOpen.read);
  const uploads = useSyncExternalStore(present.subscribe, present.read);
  const question = useSyncExternalStore(conflicts.question.subscribe, conflicts.question.read);
  const isPhone = useIsPhone();
  const { isIdle, isOffline, isPaused, items } = uploads;
  const isShown = !isIdle || items.length > 0 || (isPhone && isOpen);
  return (
    <>
      <Announcer uploads={uploads} />
      {!isIdle && (
        <div className={`tide ${isOffline || isPaused ? 'is-idle' : ''}`} aria-hidden="true">
          <span style={{ width: `${toShare(uploads) * 100}%` }} />
        </div>
      )}
      {isPhone && isOpen && isShown && (
        <div className="scrim" aria-hidden="true" onClick={() => isTrayOpen.set(false)} />
      )}
      <Suspense>
        {isShown && <Tray uploads={uploads} isPhone={isPhone} isOpen={isOpen} setOpen={isTrayOpen.set} />}
        {!isShown && projectId && hasUnfinished() && <Unfinished key={projectId} projectId={projectId} />}
        {question && <ConflictDialog key={question.serial} question={question} />}
      </Suspense>
    </>
  );
}
