import { ChevronRight, Folder } from 'lucide-react';
import { Fragment, useEffect, useRef, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { text } from '../../text/text.ts';
import { type Chosen, countExcepted, mayMoveTo, type Target, toReach } from './chosen.ts';
import { useFolders } from './use-folders.ts';

interface MoveDialogProps {
  projectId: string;
  /** Where the picking begins. */
  from: string | null;
  chosen: Chosen;
  onMove: (target: Target) => void;
  onClose: () => void;
}

/** Picks the folder that entries are moved to: one walks through the folders, from where the entries are. */
export function MoveDialog({ projectId, from, chosen, onMove, onClose }: MoveDialogProps) {
  const [at, setAt] = useState(from);
  const { data, error, isPending, hasNextPage, fetchNextPage, isFetchingNextPage } = useFolders(projectId, at);
  const picker = useRef<HTMLUListElement>(null);
  const { files } = text;
  const toFirst = () => picker.current?.querySelector<HTMLElement>('button:enabled') ?? picker.current;
  // What was pressed is no longer there once one is in the folder. The list keeps the focus until its first one is there: what loses
  // it gives it to the dialog, a frame later.
  const go = (folder: string | null) => {
    picker.current?.focus();
    setAt(folder);
  };
  useEffect(() => {
    if (!isPending) toFirst()?.focus();
  }, [at, isPending]);
  const crumbs = data?.pages[0]?.breadcrumbs ?? [];
  const folders = data?.pages.flatMap((page) => page.folders) ?? [];
  const target = crumbs.at(-1);
  const isMoved = (id: string) => chosen.entries.some((entry) => entry.id === id);
  const isHere = chosen.select ? at === chosen.select.folder : !mayMoveTo(chosen, at);
  return (
    <Dialog
      open
      onClose={onClose}
      initialFocus={toFirst}
      title={files.moveTitle(chosen.count, toReach(chosen), countExcepted(chosen))}
      footer={
        <>
          <Button onClick={onClose}>{text.common.cancel}</Button>
          <Button look="main" disabled={!target || isHere} onClick={() => target && onMove(target)}>
            <span className="clip">{files.moveTo(target?.name ?? '…')}</span>
          </Button>
        </>
      }
    >
      <nav aria-label={files.where}>
        <ol className="crumbs wrap">
          {crumbs.map(({ id, name }, index) => (
            <Fragment key={id ?? 'root'}>
              <li>
                {index > 0 && <ChevronRight className="i" aria-hidden="true" />}
                {id === at ? (
                  <b aria-current="location">
                    <bdi>{name}</bdi>
                  </b>
                ) : (
                  <button type="button" onClick={() => go(id)}>
                    <bdi>{name}</bdi>
                  </button>
                )}
              </li>
            </Fragment>
          ))}
        </ol>
      </nav>
      <ProblemNote error={error} />
      {isPending && <Skeleton rows={4} />}
      <ul className="picker" ref={picker} tabIndex={-1}>
        {folders.map(({ id, name }) => (
          <li key={id}>
            <button type="button" disabled={isMoved(id)} onClick={() => go(id)}>
              <span className="thumb folder">
                <Folder className="i" aria-hidden="true" />
              </span>
              <bdi className="grow clip">{name}</bdi>
              <ChevronRight className="i s" aria-hidden="true" />
            </button>
          </li>
        ))}
        {data && folders.length === 0 && <li className="quiet">{files.noFolders}</li>}
      </ul>
      {hasNextPage && (
        <Button busy={isFetchingNextPage} onClick={() => fetchNextPage()}>
          {files.moreRows}
        </Button>
      )}
    </Dialog>
  );
}
