import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Coming } from '../../components/coming.tsx';
import { toastError } from '../../components/toast.tsx';
import { onceReachable } from '../../once-reachable.ts';
import { type Chosen, needsAsking, type Target, toShared } from './chosen.ts';
import { loadCommands } from './load-commands.ts';

const DeleteDialog = lazy(onceReachable(async () => ({ default: (await import('./delete-dialog.tsx')).DeleteDialog })));
const LinksDialog = lazy(onceReachable(async () => ({ default: (await import('./links-dialog.tsx')).LinksDialog })));
const ManyLinks = lazy(onceReachable(async () => ({ default: (await import('./many-links.tsx')).ManyLinks })));
const MoveDialog = lazy(onceReachable(async () => ({ default: (await import('./move-dialog.tsx')).MoveDialog })));

interface Questions {
  /** Deletes at once, or asks first. */
  remove: (chosen: Chosen) => void;
  /** Asks where to. */
  move: (chosen: Chosen) => void;
  /** Shows the links of a file, or asks for how long those of several work. */
  share: (chosen: Chosen) => void;
  /** The question that is open. */
  dialog: ReactNode;
}

/** What is asked about entries, such as before they go. @param onGone called when they do */
export function useQuestions(projectId: string, folderId: string | null, onGone: () => void): Questions {
  const [asked, setAsked] = useState<{ about: 'delete' | 'move' | 'links'; chosen: Chosen }>();
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
  const share = (chosen: Chosen) => setAsked({ about: 'links', chosen });
  const dialog = asked && (
    <Suspense fallback={<Coming onClose={close} />}>
      {asked.about === 'links' ? (
        <LinksOf projectId={projectId} chosen={asked.chosen} onClose={close} />
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

interface LinksOfProps {
  projectId: string;
  chosen: Chosen;
  onClose: () => void;
}

function LinksOf({ projectId, chosen, onClose }: LinksOfProps) {
  const files = toShared(chosen);
  const [file, ...others] = files;
  if (!file) return null;
  if (others.length === 0 && chosen.entries.length === 1)
    return <LinksDialog projectId={projectId} file={file} onClose={onClose} />;
  const folders = chosen.entries.length - files.length;
  return <ManyLinks projectId={projectId} files={files} folders={folders} onClose={onClose} />;
}
