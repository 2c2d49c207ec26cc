import { useNavigate } from '@tanstack/react-router';
import { Download, Ellipsis, FolderOpen, PencilLine, Trash2 } from 'lucide-react';
import { type MouseEvent, memo } from 'react';
import { IconButton } from '../../components/button.tsx';
import { Menu, type MenuAction } from '../../components/menu.tsx';
import { Moment } from '../../components/parts.tsx';
import { formatBytes } from '../../format.ts';
import { text } from '../../text/text.ts';
import { deleteEntries, download } from './commands.ts';
import { FileName } from './file-name.tsx';
import { KindIcon } from './kind-icon.tsx';
import { NameField } from './name-field.tsx';
import type { Entry } from './use-listing.ts';

interface RowProps {
  projectId: string;
  entry: Entry;
  index: number;
  isSelected: boolean;
  /** Whether the arrow keys are at it. */
  isCurrent: boolean;
  isRenamed: boolean;
  canChange: boolean;
  canDelete: boolean;
  onChoose: (entry: Entry, how: 'only' | 'toggle' | 'extend') => void;
  onRename: (id: string | undefined) => void;
}

/** One file or folder. */
export const Row = memo(function Row(props: RowProps) {
  const { projectId, entry, index, isSelected, isCurrent, isRenamed, onChoose } = props;
  const open = useOpen(projectId);
  const isFolder = entry.kind === 'folder';
  function onClick(event: MouseEvent) {
    onChoose(entry, event.shiftKey ? 'extend' : event.metaKey || event.ctrlKey ? 'toggle' : 'only');
  }
  return (
    // The grid has the keys.
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys of a row are those of the grid
    <div
      className="row"
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      tabIndex={isCurrent ? 0 : -1}
      id={`entry-${entry.id}`}
      data-folder-id={isFolder ? entry.id : undefined}
      onClick={onClick}
    >
      <span className="cell-check" role="gridcell">
        <input
          type="checkbox"
          className="check"
          tabIndex={-1}
          checked={isSelected}
          aria-label={text.files.select(entry.name)}
          onClick={(event) => event.stopPropagation()}
          onChange={() => onChoose(entry, 'toggle')}
        />
      </span>
      <span className="cell-name" role="gridcell">
        <KindIcon entry={entry} />
        {isRenamed ? (
          <NameField projectId={projectId} entry={entry} onDone={() => props.onRename(undefined)} />
        ) : (
          <span className="name-cell">
            <button
              type="button"
              className="open"
              aria-label={entry.name}
              tabIndex={-1}
              onClick={(event) => {
                event.stopPropagation();
                open(entry);
              }}
            >
              <FileName name={entry.name} />
            </button>
            <span className="meta only-phone num">{toMeta(entry)}</span>
          </span>
        )}
      </span>
      <span className="cell-end" role="gridcell">
        {entry.kind === 'file' ? formatBytes(entry.item.fileSize) : '—'}
      </span>
      <span className={`cell-type clip quiet ${isFolder ? '' : 'mono'}`} role="gridcell">
        {toType(entry)}
      </span>
      <span className="cell-num" role="gridcell">
        <Moment at={entry.item.createdAt} />
      </span>
      <span className="row-acts" role="gridcell">
        <RowMenu {...props} />
      </span>
    </div>
  );
});

function toType(entry: Entry): string {
  if (entry.kind === 'file') return entry.item.mimeType;
  const { childCount } = entry.item;
  return childCount === undefined || childCount === null ? '' : text.common.items(childCount);
}

const toMeta = (entry: Entry) => (entry.kind === 'file' ? formatBytes(entry.item.fileSize) : toType(entry));

function RowMenu({ projectId, entry, canChange, canDelete, onRename }: RowProps) {
  const open = useOpen(projectId);
  const { files } = text;
  const actions: MenuAction[] = [
    { label: files.open, icon: FolderOpen, run: () => open(entry) },
    { label: files.download, icon: Download, run: () => void download(projectId, [entry]) },
  ];
  if (canChange) actions.push({ label: files.rename, icon: PencilLine, shortcut: 'F2', run: () => onRename(entry.id) });
  if (canDelete)
    actions.push({
      label: text.common.delete,
      icon: Trash2,
      shortcut: 'Del',
      isBad: true,
      isNewGroup: true,
      run: () => void deleteEntries(projectId, [entry]),
    });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a click on the menu is not a click on the row
    // biome-ignore lint/a11y/useKeyWithClickEvents: nor are its keys
    <span onClick={(event) => event.stopPropagation()}>
      <Menu
        trigger={
          <IconButton icon={Ellipsis} label={text.common.more} tabIndex={-1} aria-label={files.actionsOf(entry.name)} />
        }
        actions={actions}
      />
    </span>
  );
}

/** Opens a folder, or the preview of a file. */
export function useOpen(projectId: string): (entry: Entry) => void {
  const navigate = useNavigate();
  return (entry) => {
    if (entry.kind === 'folder')
      void navigate({ to: '/projects/$projectId/files/$folderId', params: { projectId, folderId: entry.id } });
    else void navigate({ to: '.', search: (before) => ({ ...before, file: entry.id }) });
  };
}
