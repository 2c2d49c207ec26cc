import { Menu as Base } from '@base-ui/react/menu';
import { useLocation } from '@tanstack/react-router';
import { Check, type LucideIcon } from 'lucide-react';
import { type ReactElement, type ReactNode, useState } from 'react';
import { text } from '../text/text.ts';
import { toDragDown } from './drag-down.ts';
import '../styles/screens/menu.css';

export interface MenuAction {
  label: string;
  icon?: LucideIcon;
  /** As people read it, such as `⌘A`. */
  shortcut?: string;
  isBad?: boolean;
  /** For one of several choices: whether it is the present one. */
  isOn?: boolean;
  isOff?: boolean;
  /** Whether a line stands above it. */
  isNewGroup?: boolean;
  run: () => void;
}

export interface MenuProps {
  /** The button that opens it. */
  trigger: ReactElement<Record<string, unknown>>;
  actions: readonly MenuAction[];
  /** Above the actions. */
  head?: ReactNode;
  side?: 'top' | 'bottom';
  align?: 'start' | 'end';
}

/** The button of a menu that was clicked had the focus; this one takes its place, and is where the menu gives the focus back. */
const takeFocus = (button: HTMLElement | null) => button?.focus({ preventScroll: true });

/** The menu itself, open from the beginning: it is loaded when somebody opens the first. On phones, it is a sheet from below. */
export function MenuPopup({ trigger, actions, head, side = 'bottom', align = 'end' }: MenuProps) {
  const pathname = useLocation({ select: (location) => location.pathname });
  // Going elsewhere closes it, such as going back.
  const [openAt, setOpenAt] = useState<string | undefined>(pathname);
  return (
    <Base.Root open={openAt === pathname} onOpenChange={(isOpen) => setOpenAt(isOpen ? pathname : undefined)}>
      <Base.Trigger ref={takeFocus} render={trigger} />
      {/* It is outside of the page's regions, so it has to be one itself. */}
      <Base.Portal role="region" aria-label={text.common.menu}>
        <Base.Backdrop className="backdrop of-menu only-phone" />
        <Base.Positioner className="positioner" side={side} align={align} sideOffset={4}>
          <Base.Popup className="menu" {...toDragDown(() => setOpenAt(undefined))}>
            <div className="grip">{head}</div>
            {actions.map((action) => (
              <MenuItem key={action.label} {...action} />
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

function MenuItem({ label, icon: Icon, shortcut, isBad, isOn, isOff, isNewGroup, run }: MenuAction) {
  const choice = isOn === undefined ? {} : { role: 'menuitemradio', 'aria-checked': isOn };
  return (
    <>
      {isNewGroup && <Base.Separator className="line-between" />}
      <Base.Item className={isBad ? 'bad' : ''} disabled={isOff ?? false} onClick={run} {...choice}>
        {Icon && <Icon className="i" aria-hidden="true" />}
        <bdi className="clip">{label}</bdi>
        {(shortcut || isOn) && (
          <span className="keys">
            {isOn ? <Check className="i" aria-hidden="true" /> : <kbd className="kbd">{shortcut}</kbd>}
          </span>
        )}
      </Base.Item>
    </>
  );
}
