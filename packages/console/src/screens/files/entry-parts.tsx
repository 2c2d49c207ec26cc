import { Link } from '@tanstack/react-router';
import { Ellipsis } from 'lucide-react';
import type { MouseEvent } from 'react';
import { IconButton } from '../../components/button.tsx';
import { Menu } from '../../components/menu.tsx';
import { text } from '../../text/text.ts';
import { toActions } from './actions.ts';
import { toDragSource, useDropTarget } from './drag.ts';
import { FileName } from './file-name.tsx';
import type { ListCommands } from './list-commands.ts';
import { NameField } from './name-field.tsx';
import { type Entry, toPlace } from './use-listing.ts';

/** What rows and tiles have in common. */

export interface EntryProps {
  projectId: string;
  entry: Entry;
  /** Where it stands in the whole listing, from 0 on, as far as that is known. */
  row: number | undefined;
  isSelected: boolean;
  /** Whether the arrow keys are at it. */
  isCurrent: boolean;
  isRenamed: boolean;
  /** Whether the folder that it is in is shown: not where everything shown is in one. */
  hasPath: boolean;
  canChange: boolean;
  commands: ListCommands;
}

/** The element of an entry, as the keys of the list find it. */
export const elementIdOf = (id: string): string => `entry-${id}`;

/** The attributes of a row or tile: how it is chosen, dragged, dropped at, and how its menu opens. */
export function useEntryElement({
  projectId,
  entry,
  isSelected,
  isCurrent,
  isRenamed,
  canChange,
  commands,
}: EntryProps) {
  const folder = entry.kind === 'folder' && canChange ? entry : undefined;
  const drop = useDropTarget(projectId, folder);
  return {
    id: elementIdOf(entry.id),
    'aria-selected': isSelected,
    tabIndex: isCurrent ? 0 : -1,
    'data-folder-id': entry.kind === 'folder' ? entry.id : undefined,
    onFocus: () => commands.goTo(entry),
    onClick(event: MouseEvent) {
      commands.choose(entry, event.shiftKey ? 'extend' : event.metaKey || event.ctrlKey ? 'toggle' : 'only');
    },
    onContextMenu(event: MouseEvent) {
      event.preventDefault();
      commands.showMenu(entry, { x: event.clientX, y: event.clientY });
    },
    ...(canChange && !isRenamed && toDragSource(() => commands.chosenWith(entry))),
    ...drop,
  };
}

export function EntryCheck({ entry, isSelected, commands, className }: EntryProps & { className: string }) {
  return (
    <input
      type="checkbox"
      className={`check ${className}`}
      tabIndex={-1}
      checked={isSelected}
      aria-label={text.files.select(entry.name)}
      onClick={(event) => event.stopPropagation()}
      onChange={() => commands.choose(entry, 'toggle')}
    />
  );
}

/** The name, a link to the entry; or the field for another name. */
export function EntryName({ projectId, entry, isRenamed, commands }: EntryProps) {
  if (isRenamed)
    return <NameField projectId={projectId} entry={entry} onDone={(step) => commands.renamed(entry, step)} />;
  return (
    <Link
      {...toPlace(projectId, entry)}
      className="open"
      aria-label={entry.name}
      tabIndex={-1}
      // The row is dragged, not its address.
      draggable={false}
      onClick={(event) => {
        // With Shift, a range is chosen; anything else is for the link alone.
        if (event.shiftKey) event.preventDefault();
        else event.stopPropagation();
      }}
    >
      <FileName name={entry.name} />
    </Link>
  );
}

export function EntryMenu({ entry, canChange, commands }: EntryProps) {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a click on the menu is not a click on the row
    // biome-ignore lint/a11y/useKeyWithClickEvents: nor are its keys
    <span onClick={(event) => event.stopPropagation()}>
      <Menu
        trigger={
          <IconButton
            icon={Ellipsis}
            label={text.common.more}
            tabIndex={-1}
            aria-label={text.files.actionsOf(entry.name)}
          />
        }
        actions={toActions(entry, commands, canChange)}
      />
    </span>
  );
}

/** What a folder has in it; what kind a file is. */
export function toType(entry: Entry): string {
  if (entry.kind === 'file') return entry.item.mimeType;
  const { childCount } = entry.item;
  return childCount === undefined || childCount === null ? '' : text.common.items(childCount);
}
