import { cloneElement, lazy, type ReactElement, Suspense, useState } from 'react';
import { onceReachable } from '../once-reachable.ts';
import type { MenuProps } from './menu-popup.tsx';

const load = onceReachable(() => import('./menu-popup.tsx'));
const MenuPopup = lazy(async () => ({ default: (await load()).MenuPopup }));

/** A menu of actions: arrows, Home, End, the first letter and Escape work; the focus goes back to its button. */
export function Menu(props: MenuProps) {
  return (
    <MenuButton trigger={props.trigger} load={load}>
      <MenuPopup {...props} />
    </MenuButton>
  );
}

interface MenuButtonProps extends Pick<MenuProps, 'trigger'> {
  /** Loads what the button opens; called before it is clicked. */
  load: () => Promise<unknown>;
  /** What takes the place of the button once that is loaded. */
  children: ReactElement;
}

/** The button of a menu that is loaded when it is wanted. */
export function MenuButton({ trigger, load, children }: MenuButtonProps) {
  const [isWanted, setWanted] = useState(false);
  const button = cloneElement(trigger, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onPointerEnter: load,
    onFocus: load,
    onClick: () => setWanted(true),
  });
  return isWanted ? <Suspense fallback={button}>{children}</Suspense> : button;
}
