import { Link } from 'lucide-react';
import { type MouseEvent, type PointerEvent, useState } from 'react';
import { formatBytes, formatDay } from '../../format.ts';
import { text } from '../../text/text.ts';
import { toChosen } from './chosen.ts';
import { toDragSource, useDropTarget } from './drag.ts';
import { FileName } from './file-name.tsx';
import type { ListCommands } from './list-commands.ts';
import { NameField } from './name-field.tsx';
import { isAfterRest, isTouch, rest, touch } from './touch.ts';
import type { Entry } from './use-listing.ts';

/** What rows and tiles have in common. */

export interface EntryProps {
  projectId: string;
  entry: Entry;
  /** The address that it is opened at. */
  href: string;
  /** Where it stands in the whole listing, from 0 on, as far as that is known. */
  row: number | undefined;
  isSelected: boolean;
  /** Whether the arrow keys are at it. */
  isCurrent: boolean;
  isRenamed: boolean;
  /** Whether the listing no longer has it: it is shown only because its name is being edited. */
  isGone: boolean;
  /** Whether its folder is shown: not needed where all entries are in one. */
  hasPath: boolean;
  /** What was searched for; empty where nothing was. */
  found: string;
  /** Whether there is room for its name only, with a line below it. */
  isPhone: boolean;
  canChange: boolean;
  commands: ListCommands;
}

/** The element of an entry, as the keys of the list find it. */
export const elementIdOf = (id: string): string => `entry-${id}`;

/** The attributes of a row or tile: how it is chosen, dragged, dropped at, and how its menu opens; and whether a pointer has been there. */
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
  const [isHovered, setHovered] = useState(false);
  const element = {
    id: elementIdOf(entry.id),
    'aria-selected': isSelected,
    tabIndex: isCurrent ? 0 : -1,
    'data-folder-id': entry.kind === 'folder' ? entry.id : undefined,
    onPointerEnter: () => setHovered(true),
    onFocus: () => commands.goTo(entry),
    onPointerDown: (event: PointerEvent) => touch(event, () => commands.rest(entry)),
    onClick(event: MouseEvent) {
      if (isAfterRest()) return;
      if (isTouch()) commands.tap(entry);
      else commands.choose(entry, event.shiftKey ? 'extend' : event.metaKey || event.ctrlKey ? 'toggle' : 'only');
    },
    onContextMenu(event: MouseEvent) {
      event.preventDefault();
      if (isOfTouch(event)) rest(() => commands.rest(entry));
      else commands.showMenu(entry, { x: event.clientX, y: event.clientY, align: 'start' });
    },
    ...(canChange && !isRenamed && toDragSource(() => commands.chosenWith(entry))),
    ...drop,
  };
  return { element, isHovered };
}

/** Whether a long press asks for the menu: browsers on phones report it as a `contextmenu` event. */
const isOfTouch = ({ nativeEvent }: MouseEvent) =>
  nativeEvent instanceof globalThis.PointerEvent && nativeEvent.pointerType === 'touch';

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

/**
 * The name, a link to the entry; or the field for another name. It is a plain link: scrolling draws hundreds of them in
 * a second, and a link of the router works out its URL each time.
 */
export function EntryName({ projectId, entry, href, found, isRenamed, isGone, commands }: EntryProps) {
  if (isRenamed) {
    const onDone = (step?: 1 | -1) => commands.renamed(entry, step);
    return <NameField projectId={projectId} entry={entry} isGone={isGone} onDone={onDone} />;
  }
  return (
    <a
      href={href}
      className="open"
      aria-label={entry.name}
      tabIndex={-1}
      // The row is dragged, not its URL.
      draggable={false}
      onPointerDown={({ button, pointerType, ctrlKey, metaKey }) => {
        // A touch may begin a scroll, and other buttons and keys open it elsewhere.
        if (button === 0 && pointerType !== 'touch' && !ctrlKey && !metaKey) commands.press(entry);
      }}
      onClick={(event) => {
        // With Shift, a click chooses a range, and taps are for the row. Any other click is for the link alone, which browsers open
        // elsewhere with other keys.
        if (event.shiftKey || isTouch()) return event.preventDefault();
        event.stopPropagation();
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        commands.open(entry);
      }}
    >
      <FileName name={entry.name} found={found} />
    </a>
  );
}

interface EntryActionsProps extends EntryProps {
  isHovered: boolean;
}

/** The buttons of an entry: for the links of a file once a pointer has been there, and for the menu. All entries share one menu. */
export function EntryActions({ entry, isHovered, canChange, commands }: EntryActionsProps) {
  return (
    <>
      {isHovered && canChange && entry.kind === 'file' && (
        <button
          type="button"
          className="btn icon ghost m only-wide"
          title={text.files.copyLink}
          tabIndex={-1}
          aria-label={text.files.copyLinkOf(entry.name)}
          onClick={(event) => {
            event.stopPropagation();
            commands.share(toChosen([entry]));
          }}
        >
          <Link className="i" aria-hidden="true" />
        </button>
      )}
      <button
        type="button"
        className="btn icon ghost m dots"
        title={text.common.more}
        tabIndex={-1}
        aria-label={text.files.actionsOf(entry.name)}
        aria-haspopup="menu"
        onFocus={commands.loadMenu}
        onClick={(event) => {
          event.stopPropagation();
          const { right, bottom } = event.currentTarget.getBoundingClientRect();
          commands.showMenu(entry, { x: right, y: bottom, align: 'end' });
        }}
      />
    </>
  );
}

/** How large a file is, or what a folder has in it, and since when it is there. */
export function toMeta(entry: Entry, isTyped = false): string {
  const { createdAt } = entry.item;
  const size =
    entry.kind === 'file'
      ? [formatBytes(entry.item.fileSize), ...(isTyped ? [entry.item.mimeType] : [])]
      : [toType(entry)];
  return [...size, formatDay(createdAt)].filter(Boolean).join(' · ');
}

/** What a folder has in it; what kind a file is. */
export function toType(entry: Entry): string {
  if (entry.kind === 'file') return entry.item.mimeType;
  const { childCount } = entry.item;
  return childCount === undefined || childCount === null ? '' : text.common.items(childCount);
}
