import { MenuPopup } from '../../components/menu-popup.tsx';
import { toActions } from './actions.ts';
import { elementIdOf, toMeta } from './entry-parts.tsx';
import { FileName } from './file-name.tsx';
import { KindIcon } from './kind-icon.tsx';
import type { ListCommands, MenuPoint } from './list-commands.ts';
import { Picture, toSources } from './picture.tsx';
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
      head={<EntryHead entry={entry} />}
      actions={toActions(entry, commands, canChange)}
    />
  );
}

/** Where the menu covers the list: what it is for. */
function EntryHead({ entry }: { entry: Entry }) {
  const kind = <KindIcon entry={entry} />;
  return (
    <div className="line g3 only-phone">
      {entry.kind === 'file' ? (
        <span className="thumb">
          <Picture sources={toSources(entry.item)} none={kind} />
        </span>
      ) : (
        kind
      )}
      <div className="grow">
        <FileName name={entry.name} />
        <div className="cap quiet num clip">{toMeta(entry, true)}</div>
      </div>
    </div>
  );
}
