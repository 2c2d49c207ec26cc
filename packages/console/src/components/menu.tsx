import { Menu as Base } from '@base-ui/react/menu';
import type { LucideIcon } from 'lucide-react';
import type { ReactElement, ReactNode } from 'react';

export interface MenuAction {
  label: string;
  icon?: LucideIcon;
  /** As people read it, such as `⌘A`. */
  shortcut?: string;
  isBad?: boolean;
  isOff?: boolean;
  /** Whether a line stands above it. */
  isNewGroup?: boolean;
  run: () => void;
}

interface MenuProps {
  /** The button that opens it. */
  trigger: ReactElement<Record<string, unknown>>;
  actions: readonly MenuAction[];
  /** Above the actions. */
  head?: ReactNode;
  side?: 'top' | 'bottom';
  align?: 'start' | 'end';
}

/** A menu of actions: arrows, Home, End, the first letter and Escape work; the focus goes back to its button. */
export function Menu({ trigger, actions, head, side = 'bottom', align = 'end' }: MenuProps) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner className="positioner" side={side} align={align} sideOffset={4}>
          <Base.Popup className="menu">
            {head}
            {actions.map((action) => (
              <MenuItem key={action.label} {...action} />
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

function MenuItem({ label, icon: Icon, shortcut, isBad, isOff, isNewGroup, run }: MenuAction) {
  return (
    <>
      {isNewGroup && <Base.Separator className="line-between" />}
      <Base.Item className={isBad ? 'bad' : ''} disabled={isOff ?? false} onClick={run}>
        {Icon && <Icon className="i" aria-hidden="true" />}
        {label}
        {shortcut && (
          <span className="keys">
            <kbd className="kbd">{shortcut}</kbd>
          </span>
        )}
      </Base.Item>
    </>
  );
}
