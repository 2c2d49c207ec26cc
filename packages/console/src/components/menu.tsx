import { cloneElement, lazy, Suspense, useState } from 'react';
import { onceReachable } from '../once-reachable.ts';
import type { MenuProps } from './menu-popup.tsx';

const load = onceReachable(() => import('./menu-popup.tsx'));
const MenuPopup = lazy(async () => ({ default: (await load()).MenuPopup }));

/** A menu of actions: arrows, Home, End, the first letter and Escape work; the focus goes back to its button. */
export function Menu(props: MenuProps) {
  const [isWanted, setWanted] = useState(false);
  const button = cloneElement(props.trigger, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onPointerEnter: load,
    onFocus: load,
    onClick: () => setWanted(true),
  });
  if (!isWanted) return button;
  return (
    <Suspense fallback={button}>
      <MenuPopup {...props} />
    </Suspense>
  );
}
