import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Coming } from '../../components/coming.tsx';
import { toastError } from '../../components/toast.tsx';
import { onceReachable } from '../../once-reachable.ts';
import { type Chosen, needsAsking, type Target } from './chosen.ts';
import { loadCommands } from './load-commands.ts';
import type { Entry } from './use-listing.ts';

const DeleteDialog = lazy(onceReachable(async () => ({ default: (await import('./delete-dialog.tsx')).DeleteDialog })));
const LinksDialog = lazy(onceReachable(async () => ({ default: (await import('./links-dialog.tsx')).LinksDialog })));
const MoveDialog = lazy(onceReachable(async () => ({ default: (await import('./move-dialog.tsx')).MoveDialog })));

interface Questions {
  /** Deletes at once, or asks first. */
  remove: (chosen: Chosen) => void;
  /** Asks where to. */
  move: (chosen: Chosen) => void;
  /** Shows the links of a file. */
  share: (file: Entry) => void;
  /** The question that is open. */
  dialog: ReactNode;
}

/** What is asked about entries, such as before they go. @param onGone called when they do */
export function useQuestions(projectId: string, folderId: string | null, onGone: () => void): Questions {
  const [asked, setAsked] = useState<{ about: 'delete' | 'move'; chosen: Chosen } | { about: 'links'; file: Entry }>();
  const close = () => setAsked(undefined);
  const end = () => {
    close();
    onGone();
  };
  const deleteThem = (chosen: Chosen) => {
    end();
    loadCommands().then(({ deleteChosen }) => deleteChosen(projectId, chosen), toastError);
  };
  const moveThem = (chosen: Chosen, target: Target) => {
    end();
    loadCommands().then(({ moveChosen }) => moveChosen(projectId, chosen, target), toastError);
  };
  const remove = (chosen: Chosen) => {
    if (needsAsking(chosen)) setAsked({ about: 'delete', chosen });
    else deleteThem(chosen);
  };
  const move = (chosen: Chosen) => setAsked({ about: 'move', chosen });
  const share = (file: Entry) => setAsked({ about: 'links', file });
  const dialog = asked && (
    <Suspense fallback={<Coming onClose={close} />}>
      {asked.about === 'links' ? (
        <LinksDialog projectId={projectId} file={asked.file} onClose={close} />
      ) : asked.about === 'delete' ? (
        <DeleteDialog
          projectId={projectId}
          chosen={asked.chosen}
          onDelete={() => deleteThem(asked.chosen)}
          onClose={close}
        />
      ) : (
        <MoveDialog
          projectId={projectId}
          from={folderId}
          chosen={asked.chosen}
          onMove={(target) => moveThem(asked.chosen, target)}
          onClose={close}
        />
      )}
    </Suspense>
  );
  return { remove, move, share, dialog };
}
