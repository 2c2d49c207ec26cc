import { Dialog } from '@base-ui/react/dialog';
import { Download, Ellipsis, FolderInput, PanelRight, PencilLine, Trash2, X } from 'lucide-react';
import { useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { Button, IconButton } from '../../components/button.tsx';
import { Menu } from '../../components/menu.tsx';
import { useRole } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { FileName } from './file-name.tsx';
import { download } from './load-commands.ts';
import { NameField } from './name-field.tsx';
import type { FileEntry } from './use-listing.ts';

/** Where a file stands among the files of a listing, from 1 on, and how many those are. */
export interface Position {
  nth: number;
  total: number;
}

interface PreviewBarProps {
  projectId: string;
  /** Undefined until it has been read, and for one that is not there. */
  file: FileEntry | undefined;
  position: Position | undefined;
  onMove: (file: FileEntry) => void;
  onRemove: (file: FileEntry) => void;
  hasDetails: boolean;
  /** Shows the details, or hides them. */
  onToggleDetails: () => void;
}

/** The top of a preview: which file it is, and what can be done with it. On phones, most of that is in a menu. */
export function PreviewBar({ projectId, file, position, onMove, onRemove, ...details }: PreviewBarProps) {
  const button = useRef<HTMLButtonElement>(null);
  const menuButton = useRef<HTMLButtonElement>(null);
  const canChange = useRole(projectId) !== 'viewer';
  const [renamed, setRenamed] = useState<string>();
  const { files, common, preview } = text;
  function onRenamed() {
    const isHere = document.activeElement?.matches('.rename-in input');
    // At once: a dialog takes a lost focus itself, a moment later.
    flushSync(() => setRenamed(undefined));
    // If the focus has gone elsewhere meanwhile, it stays there.
    if (!isHere) return;
    // Only one of them is in sight, and takes the focus.
    button.current?.focus();
    menuButton.current?.focus();
  }
  const changes =
    file && canChange
      ? [
          { label: files.rename, icon: PencilLine, run: () => setRenamed(file.id) },
          { label: files.move, icon: FolderInput, run: () => onMove(file) },
          { label: common.delete, icon: Trash2, isBad: true, isNewGroup: true, run: () => onRemove(file) },
        ]
      : [];
  return (
    <header>
      <Dialog.Close render={<IconButton icon={X} label={common.close} />} />
      {file && file.id === renamed ? (
        <NameField key={file.id} projectId={projectId} entry={file} onDone={onRenamed} />
      ) : (
        <>
          <b className="clip">{file && <FileName name={file.name} />}</b>
          {position && (
            <span className="quiet num only-wide position">{preview.position(position.nth, position.total)}</span>
          )}
        </>
      )}
      <span className="grow" />
      {changes.map(({ label, icon, run }, index) => (
        <Button
          key={label}
          ref={index === 0 ? button : null}
          look="ghost"
          icon={icon}
          className="only-wide"
          onClick={run}
        >
          {label}
        </Button>
      ))}
      {changes.length > 0 && <span className="only-wide between" />}
      {file && (
        <>
          <Button icon={Download} className="only-wide" onClick={() => download(projectId, [file])}>
            {files.download}
          </Button>
          <IconButton
            icon={Download}
            className="only-phone"
            label={files.download}
            onClick={() => download(projectId, [file])}
          />
        </>
      )}
      {changes.length > 0 && (
        <Menu
          trigger={<IconButton ref={menuButton} icon={Ellipsis} className="only-phone" label={common.more} />}
          actions={changes}
        />
      )}
      <IconButton
        icon={PanelRight}
        className="only-wide"
        label={preview.details}
        aria-pressed={details.hasDetails}
        onClick={details.onToggleDetails}
      />
    </header>
  );
}
