import { Ellipsis } from 'lucide-react';
import { Menu } from '../../components/menu.tsx';
import type { MenuAction } from '../../components/menu-popup.tsx';
import { text } from '../../text/text.ts';
import { toSelectionActions } from './actions.ts';
import type { Chosen } from './chosen.ts';
import type { ListCommands } from './list-commands.ts';
import '../../styles/screens/selection-actions.css';

interface SelectionActionsProps {
  chosen: Chosen;
  canChange: boolean;
  commands: ListCommands;
}

/** What can be done with a selection on a phone, in the place of its tabs. */
export function SelectionActions({ chosen, canChange, commands }: SelectionActionsProps) {
  const { bar, menu, last } = toSelectionActions(chosen, commands, canChange);
  return (
    <div className="tabbar of-selection" role="toolbar" aria-label={text.files.selectionActions}>
      {bar.map((action) => (
        <Action key={action.label} {...action} />
      ))}
      {menu.length > 0 && (
        <Menu
          // That of another entry is not open.
          key={chosen.entries[0]?.id}
          trigger={
            <button type="button">
              <Ellipsis className="i" aria-hidden="true" />
              <span className="clip">{text.nav.more}</span>
            </button>
          }
          actions={menu}
        />
      )}
      {last && <Action {...last} />}
    </div>
  );
}

const Action = ({ label, icon: Icon, isBad, run }: MenuAction) => (
  <button type="button" className={isBad ? 'bad' : ''} onClick={run}>
    {Icon && <Icon className="i" aria-hidden="true" />}
    <span className="clip">{label}</span>
  </button>
);
