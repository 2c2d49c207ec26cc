import { Menu as Base } from '@base-ui/react/menu';
import type { MenuAction, MenuProps } from './menu.tsx';

/** The menu itself, open from the beginning: it is loaded when somebody opens the first. */
export function MenuPopup({ trigger, actions, head, side = 'bottom', align = 'end' }: MenuProps) {
  return (
    <Base.Root defaultOpen>
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
