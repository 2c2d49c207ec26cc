import { MenuPopup } from '../../components/menu-popup.tsx';
import { toActions } from './actions.ts';
import { elementIdOf } from './entry-parts.tsx';
import type { ListCommands, MenuPoint } from './list-commands.ts';
import type { Entry } from './use-listing.ts';

interface ContextMenuProps {
  entry: Entry;
  point: MenuPoint;
  canChange: boolean;
  commands: ListCommands;
}

/** The menu of an entry at a point of the window. The focus goes back to the entry. */
export function ContextMenu({ entry, point: { x, y, align }, canChange, commands }: ContextMenuProps) {
  return (
    <MenuPopup
      align={align}
      trigger={
        <button
          type="button"
          className="point"
          tabIndex={-1}
          aria-label={entry.name}
          style={{ left: x, top: y }}
          onFocus={() => document.getElementById(elementIdOf(entry.id))?.focus({ preventScroll: true })}
        />
      }
      actions={toActions(entry, commands, canChange)}
    />
  );
}
